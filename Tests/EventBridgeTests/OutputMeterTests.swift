import Testing

@testable import EventBridge

@Suite("How much of a worker's output is passed on")
struct OutputMeterTests {
    private static let second: UInt64 = 1_000_000_000

    private func passes(_ meter: inout OutputMeter, _ bytes: Int, at now: UInt64) -> Bool {
        meter.passes(bytes, at: now)
    }

    /// Takes lines of 36 bytes, which count for 100, until one is left out.
    private func fill(_ meter: inout OutputMeter, at now: UInt64) -> Int {
        var count = 0
        while meter.passes(36, at: now) { count += 1 }
        return count
    }

    @Test("Four seconds' worth at once, then nothing until there is room for a second's")
    func burst() {
        var meter = OutputMeter(rate: 1_000, at: 5)
        #expect(fill(&meter, at: 5) == 40)
        #expect(meter.takeDropped() == OutputMeter.Dropped(lines: 1, bytes: 36))
        #expect(meter.takeDropped() == nil)
        #expect(!passes(&meter, 36, at: 5 + Self.second * 99 / 100))
        #expect(fill(&meter, at: 5 + Self.second) == 10)
        #expect(meter.takeDropped() == OutputMeter.Dropped(lines: 2, bytes: 72))
    }

    @Test(
        "No more than four seconds' worth is saved up, however long nothing came, and time that goes back adds nothing"
    )
    func rest() {
        var meter = OutputMeter(rate: 1_000, at: 0)
        _ = fill(&meter, at: 0)
        #expect(fill(&meter, at: .max) == 40)
        #expect(fill(&meter, at: 0) == 0)
    }

    @Test("Time in small pieces adds up")
    func smallPieces() {
        var meter = OutputMeter(rate: 1_000, at: 0)
        _ = fill(&meter, at: 0)
        // A byte a millisecond, with ten looks in each millisecond.
        for step: UInt64 in 1..<10_000 { #expect(!passes(&meter, 36, at: step * 100_000)) }
        #expect(passes(&meter, 36, at: Self.second))
    }

    @Test("A line longer than all there is room for passes when all of it is free")
    func longLine() {
        var meter = OutputMeter(rate: 1_000, at: 0)
        #expect(passes(&meter, 16_384, at: 0))
        #expect(!passes(&meter, 0, at: 0))
        #expect(!passes(&meter, 16_384, at: 3 * Self.second))
        #expect(passes(&meter, 16_384, at: 4 * Self.second))
    }
}
