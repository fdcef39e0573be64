import TestSupport
import Testing

@testable import EventRouting

@Suite("How long calls wait for the handlers of reports")
struct ReportWaitsTests {
    private let ended = Collected<String>()

    private func begin(_ name: String, _ waits: inout ReportWaits) -> UInt64? {
        waits.begin { [ended] in ended.add(name) }
    }

    private func look(_ waits: inout ReportWaits, times: Int = 1) {
        for _ in 0..<times { for body in waits.looked() { body() } }
    }

    @Test("a wait ends with its last look, and not before")
    func lastLook() {
        var waits = ReportWaits()
        let number = begin("a", &waits)
        look(&waits, times: ReportWaits.looks - 1)
        #expect(ended.all.isEmpty && !waits.isEmpty)
        look(&waits)
        #expect(ended.all == ["a"] && waits.isEmpty)
        #expect(number.flatMap { waits.takeBody(of: $0) } == nil)
    }

    @Test("a wait whose reports have been delivered is ended by no look")
    func passed() throws {
        var waits = ReportWaits()
        let (first, second) = (try #require(begin("a", &waits)), try #require(begin("b", &waits)))
        look(&waits)
        waits.takeBody(of: first)?()
        #expect(ended.all == ["a"])
        #expect(waits.takeBody(of: first) == nil)
        look(&waits, times: ReportWaits.looks - 1)
        #expect(ended.all == ["a", "b"] && waits.isEmpty)
        #expect(waits.takeBody(of: second) == nil)
    }

    @Test("calls that wait for one report share its time, and a call after that does not wait")
    func oneReport() {
        var waits = ReportWaits()
        _ = begin("a", &waits)
        look(&waits, times: 4)
        _ = begin("b", &waits)
        look(&waits, times: ReportWaits.looks - 4)
        #expect(ended.all == ["a", "b"] && waits.isEmpty)
        #expect(begin("c", &waits) == nil)
        #expect(waits.isEmpty)
    }

    @Test("each report has all of its time for calls that begin with it, and prolongs no earlier wait")
    func nextReport() {
        var waits = ReportWaits()
        _ = begin("a", &waits)
        look(&waits, times: 4)
        waits.reportPassed()
        _ = begin("b", &waits)
        look(&waits, times: ReportWaits.looks - 4)
        #expect(ended.all == ["a"])
        look(&waits, times: 4)
        #expect(ended.all == ["a", "b"])
    }
}
