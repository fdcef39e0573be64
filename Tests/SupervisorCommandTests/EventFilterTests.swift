import BridgeProtocol
import DomainEvents
import Testing

@testable import supervisor

@Suite("Events that tail shows")
struct EventFilterTests {
    private func shows(_ filter: EventFilter, _ name: String, of origin: String) -> Bool {
        filter.shows(name, of: origin, host: "host")
    }

    @Test("are all that are no reports, or those that were named")
    func names() throws {
        let all = try EventFilter(events: nil, from: nil)
        #expect(all.wantsEverything && all.names.isEmpty && shows(all, "A", of: "a"))
        let some = try EventFilter(events: "A,B", from: nil)
        #expect(!some.wantsEverything && some.names == ["A", "B"])
        #expect(shows(some, "A", of: "a") && !shows(some, "C", of: "a"))
        let more = try EventFilter(events: "WorkerExited,*", from: nil)
        #expect(more.wantsEverything && more.names == ["WorkerExited"] && shows(more, "C", of: "a"))
    }

    @Test("are those of one worker, or of the host, which is called input", arguments: ["a", "input", "host"])
    func origins(origin: String) throws {
        let filter = try EventFilter(events: nil, from: origin)
        #expect(shows(filter, "A", of: "a") == (origin == "a"))
        #expect(shows(filter, "A", of: "host") == (origin != "a"))
    }

    @Test("and gaps of those")
    func gaps() throws {
        let first = EventID(origin: "a", incarnation: 1, number: 1)
        let gap = PrintedGap(Gap(name: "A", reason: .policy, count: 2, ranges: [.init(first: first, last: 2)]))
        func shows(_ events: String?, _ origin: String?) throws -> Bool {
            try EventFilter(events: events, from: origin).shows(gap, host: "host")
        }
        #expect(try shows(nil, nil) && shows("A", "a") && !shows("B", nil) && !shows(nil, "b"))
        #expect(try EventFilter(events: "A", from: "b").shows(.away, host: "host"))
    }

    @Test("and gaps that have as many origins as a gap can name, because events of others may be missing, too")
    func fullGaps() throws {
        func shows(origins: Int, from origin: String, name: String = "A") throws -> Bool {
            let ranges = (1...origins).map {
                Gap.Range(first: EventID(origin: "a\($0)", incarnation: 1, number: 1), last: 1)
            }
            let gap = PrintedGap(Gap(name: name, reason: .policy, count: 100, ranges: ranges))
            return try EventFilter(events: "A", from: origin).shows(gap, host: "host")
        }
        #expect(try shows(origins: Gap.maximumRanges, from: "b"))
        #expect(try shows(origins: Gap.maximumRanges, from: "a1"))
        #expect(try !shows(origins: Gap.maximumRanges, from: "b", name: "B"))
        #expect(try !shows(origins: Gap.maximumRanges - 1, from: "b"))
    }

    @Test("have names of 1 to 256 bytes", arguments: ["A,", ",", String(repeating: "x", count: 257)])
    func mistakes(events: String) {
        #expect(throws: UsageError.self) { try EventFilter(events: events, from: nil) }
    }
}
