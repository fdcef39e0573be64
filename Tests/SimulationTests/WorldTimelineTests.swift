import BridgePlatform
import DomainEvents
import EventBridge
import FoundationEssentials
import JSONText
import TestSupport
import Testing

@testable import EventBridgeTesting

/// A failed run as a file for Perfetto: read back, and compared with what has happened.
@Suite(.timeLimit(.minutes(5)))
struct WorldTimelineTests {
    /// A worker crashes over the first event; the scenario fails because the event then comes again.
    @Sendable private static func comesAgain(_ world: SimulationWorld) async throws {
        let publisher = EventPublisher()
        let kept = publisher.subscribe(to: Answered.self) { (_: Answered) in }
        world.crash("fragile", whenHandling: Asked.self, .signal(11))
        try await world.start(
            publisher,
            workers: [
                InMemoryWorker("fragile", subscribes: [Asked.self]) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) {
                            publisher.publish(Answered(number: $0.number))
                            guard let context = EventContext.current, context.attempt > 1 else { return }
                            world.fail("\(context.id) has come again")
                        }
                    ]
                }
            ]
        )
        for number in 0..<10 { try await publisher.send(Asked(number: number)) }
        try await world.rest(within: .seconds(60))
        withExtendedLifetime(kept) {}
    }

    private struct Entries {
        let all: [JSONNode]
        let failure: SimulationFailure

        func of(_ phase: String, _ category: String? = nil) -> [JSONNode] {
            all.filter { text($0["ph"]) == phase && (category == nil || text($0["cat"]) == category) }
        }
    }

    /// Runs a body whose first seed fails, and reads the file that it leaves.
    private func timeline(
        _ body: @escaping @Sendable (SimulationWorld) async throws -> Void,
        faults: SimulationFaults = .all
    ) async throws -> Entries {
        let directory = try TemporaryDirectory()
        let path = directory.path("run.json")
        var simulation = BridgeSimulation(seeds: 1, faults: faults)
        simulation.timeline = path
        let failure = await #expect(throws: SimulationFailure.self) { try await simulation.run(body) }
        #expect(failure?.timeline == path)
        #expect(failure?.description.hasSuffix("timeline: \(path)") == true)
        let file = try SystemFile.open(reading: path)
        var bytes: [UInt8] = []
        while true {
            let more = try file.read(upTo: 1 << 20)
            if more.isEmpty { break }
            bytes += more
        }
        let whole = try JSONReader().read(String(decoding: bytes, as: UTF8.self))
        guard case .array(let entries)? = whole["traceEvents"]?.value else {
            Issue.record("no trace")
            return Entries(all: [], failure: try #require(failure))
        }
        return Entries(all: entries, failure: try #require(failure))
    }

    @Test("The failing event is there, behind its crash and before the failure, in the run's own time")
    func failingEvent() async throws {
        let entries = try await timeline(Self.comesAgain)
        let failure = try #require(entries.of("i", "failure").first)
        #expect(text(failure["name"]) == entries.failure.reason)
        let id = try #require(entries.failure.reason.split(separator: " ").first.map(String.init))
        let arrivals = entries.of("X", "event").filter {
            text($0["args"]?["id"]) == id && text($0["name"]) == "gets Asked"
        }
        #expect(arrivals.map { number($0["args"]?["attempt"]) ?? 1 } == [1, 2])
        let crash = try #require(
            entries.of("i", "story").first { text($0["name"])?.contains("ends in a handler") == true }
        )
        let times = [arrivals[0], crash, arrivals[1], failure].map { time($0) }
        #expect(times == times.sorted())
        #expect(time(failure) <= Double(entries.failure.nanoseconds) / 1_000)
    }

    @Test("Times ascend, and what a thread does lies side by side or one in the other")
    func nesting() async throws {
        let entries = try await timeline(Self.comesAgain)
        let times = entries.all.filter { text($0["ph"]) != "M" }.map { time($0) }
        #expect(times.count > 100)
        #expect(times == times.sorted())
        #expect(times[0] >= 0)
        var open: [String: [Int]] = [:]
        for entry in entries.of("X") {
            let track = "\(number(entry["pid"]) ?? -1) \(number(entry["tid"]) ?? -1)"
            // In nanoseconds, because sums of decimal fractions are not exact.
            let begin = Int((time(entry) * 1_000).rounded())
            let length = Int(((number(entry["dur"]) ?? -1) * 1_000).rounded())
            #expect(length >= 0)
            var ends = open[track] ?? []
            while let end = ends.last, end <= begin { ends.removeLast() }
            if let end = ends.last { #expect(begin + length <= end, "\(track) at \(begin)") }
            ends.append(begin + length)
            open[track] = ends
        }
    }

    @Test("Each process has its name, a second start its number, and each thread a name in its process")
    func tracks() async throws {
        let entries = try await timeline(Self.comesAgain)
        let processes = entries.of("M").filter { text($0["name"]) == "process_name" }
        #expect(processes.map { text($0["args"]?["name"]) } == ["host", "fragile", "fragile 2"])
        let named = Set(
            entries.of("M").filter { text($0["name"]) == "thread_name" }
                .map { "\(number($0["pid"]) ?? -1) \(number($0["tid"]) ?? -1)" }
        )
        let used = Set(entries.of("X").map { "\(number($0["pid"]) ?? -1) \(number($0["tid"]) ?? -1)" })
        #expect(used.isSubset(of: named))
    }

    @Test("Arrows lead from where an event was published to where it arrives, and from a cause to its effect")
    func flows() async throws {
        let entries = try await timeline(Self.comesAgain)
        let begins = entries.of("s")
        #expect(Set(begins.map { text($0["name"]) }) == ["way of the event", "cause"])
        for begin in begins {
            let end = try #require(entries.of("f").first { text($0["id"]) == text(begin["id"]) })
            #expect(time(begin) <= time(end))
            let isWithin = entries.of("X", "event").contains { event in
                text(event["name"])?.hasPrefix("publishes") == (text(begin["name"]) == "way of the event")
                    && number(event["tid"]) == number(begin["tid"]) && time(event) == time(begin)
            }
            #expect(isWithin)
        }
    }

    @Test("What is found when nothing can go on is there as well")
    func deadlock() async throws {
        let entries = try await timeline({ _ in waitForEver() }, faults: .none)
        let failure = try #require(entries.of("i", "failure").first)
        #expect(text(failure["name"])?.hasPrefix("nothing can go on") == true)
    }

    @Test("A file that cannot be written is said, and the failure stays")
    func unwritable() async throws {
        var simulation = BridgeSimulation(seeds: 1)
        simulation.timeline = "/nowhere/run.json"
        let failure = await #expect(throws: SimulationFailure.self) { try await simulation.run(Self.comesAgain) }
        #expect(failure?.reason.hasSuffix("has come again") == true)
        #expect(failure?.timeline == "/nowhere/run.json cannot be written: No such file or directory")
    }
}

/// The time of an entry, in microseconds.
private func time(_ node: JSONNode) -> Double { number(node["ts"]) ?? -1 }

/// A directory of its own, removed with the object.
private final class TemporaryDirectory {
    private let url: URL

    init() throws {
        let name = "event-bridge-\(UInt64.random(in: 1 ... .max))"
        url = FileManager.default.temporaryDirectory.appending(path: name, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appending(path: name).path(percentEncoded: false) }
}
