import DomainEvents
import TestSupport
import Testing

@testable import BridgeProtocol

@Suite("Settled events of which a journal has not heard")
struct UntoldEventsTests {
    private static let source = EventSource(origin: "host", incarnation: 1)
    private static let other = EventSource(origin: "canvas", incarnation: 5)

    /// What a journal may hear of: for each note the source and the ranges of numbers.
    private static func notes(_ untold: inout UntoldEvents, _ sequence: UInt64) -> [String] {
        var notes: [String] = []
        var numbers: [ClosedRange<UInt64>] = []
        while let source = untold.take(recordedThrough: sequence, into: &numbers) {
            notes.append("\(source.origin) \(numbers.map { "\($0)" }.joined(separator: " "))")
        }
        return notes
    }

    private static func take(_ untold: inout UntoldEvents, _ sequence: UInt64) -> [UInt64] {
        var told: [UInt64] = []
        var numbers: [ClosedRange<UInt64>] = []
        while untold.take(recordedThrough: sequence, into: &numbers) != nil { told += numbers.joined() }
        return told
    }

    @Test("leave in their order, each once, however many acknowledgements they came with", .timeLimit(.minutes(1)))
    func order() {
        var untold = UntoldEvents()
        let count: UInt64 = 20_000
        for number in 1...count {
            untold.append(EventID(source: Self.source, number: number), after: UntrustedNumber(number))
        }
        var told: [UInt64] = []
        for sequence in 0...count {
            #expect(untold.isEmpty == false)
            told += Self.take(&untold, sequence)
            guard told.count == sequence else { break }
        }
        #expect(told == Array(1...count))
        #expect(untold.isEmpty)
        // The next event finds no run that is taken out already.
        untold.append(EventID(source: Self.source, number: count + 1), after: UntrustedNumber(count))
        #expect(Self.take(&untold, count) == [count + 1])
    }

    @Test("stay owed beyond a bound, if what the receiver has named never comes")
    func bound() {
        var untold = UntoldEvents()
        for number in 1...UInt64(1 << 20) + 5 {
            untold.append(EventID(source: Self.source, number: number), after: .max)
        }
        #expect(Self.take(&untold, .max - 1) == [])
        #expect(Self.notes(&untold, .max) == ["host 1...1048576"])
        // There is room again.
        untold.append(EventID(source: Self.source, number: 7), after: 0)
        #expect(Self.take(&untold, 0) == [7])
    }

    @Test("make one note for each source, with ranges in ascending order")
    func ranges() {
        var untold = UntoldEvents()
        let events: [(EventSource, UInt64)] = [
            (Self.source, 3), (Self.other, .max), (Self.source, 1), (Self.source, 2), (Self.source, 7),
            (Self.source, 2), (Self.other, .max - 1), (Self.other, 0),
        ]
        for (source, number) in events { untold.append(EventID(source: source, number: number), after: 0) }
        untold.append(EventID(source: Self.source, number: 8), after: 1)
        untold.append(EventID(source: Self.other, number: 1), after: 2)
        #expect(
            Self.notes(&untold, 1) == [
                "host 1...3 7...8", "canvas 0...0 \(UInt64.max - 1)...\(UInt64.max)",
            ]
        )
        #expect(!untold.isEmpty)
        #expect(Self.notes(&untold, 2) == ["canvas 1...1"])
        #expect(untold.isEmpty)
    }

    @Test("make further notes if a note would have more ranges than are read")
    func manyRanges() {
        var untold = UntoldEvents()
        let most = UInt64(CustodyNote.mostRanges)
        for number in 0...most { untold.append(EventID(source: Self.source, number: number * 2), after: 0) }
        var numbers: [ClosedRange<UInt64>] = []
        let source = untold.take(recordedThrough: 0, into: &numbers)
        #expect(source == Self.source && numbers.count == CustodyNote.mostRanges)
        #expect(Self.notes(&untold, 0) == ["host \(most * 2)...\(most * 2)"])
    }

    @Test("Random events of several sources are each told once, in their turn", .timeLimit(.minutes(5)))
    func histories() {
        var random = SeededGenerator.announced()
        let sources = ["a", "b", "c"].map { EventSource(origin: $0, incarnation: 1) }
        for _ in 0..<rounds(200) {
            var untold = UntoldEvents()
            var waiting: [(after: UInt64, event: EventID)] = []
            var nextNumbers = [UInt64](repeating: 1, count: sources.count)
            for _ in 0..<random.below(400) {
                let index = random.below(sources.count)
                nextNumbers[index] += UInt64(random.below(3))
                let event = EventID(source: sources[index], number: nextNumbers[index])
                nextNumbers[index] += 1
                let after = UInt64(random.below(20))
                untold.append(event, after: UntrustedNumber(after))
                waiting.append((after, event))
                guard random.below(8) == 0 else { continue }
                let sequence = UInt64(random.below(20))
                let ready = waiting.prefix { $0.after <= sequence }.map(\.event)
                waiting.removeFirst(ready.count)
                var told: [EventID] = []
                var numbers: [ClosedRange<UInt64>] = []
                while let source = untold.take(recordedThrough: sequence, into: &numbers) {
                    #expect(!numbers.isEmpty && numbers == CustodyNote.joined(numbers))
                    told += numbers.joined().map { EventID(source: source, number: $0) }
                }
                #expect(told.count == ready.count && Set(told) == Set(ready))
                #expect(untold.isEmpty == waiting.isEmpty)
            }
        }
    }
}
