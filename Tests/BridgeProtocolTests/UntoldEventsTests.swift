import DomainEvents
import Testing

@testable import BridgeProtocol

@Suite("Settled events of which a journal has not heard")
struct UntoldEventsTests {
    private static let source = EventSource(origin: "host", incarnation: 1)

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
            told += untold.take(recordedThrough: sequence).map(\.number)
            guard told.count == sequence else { break }
        }
        #expect(told == Array(1...count))
        #expect(untold.isEmpty)
        // The next event finds no batch that is taken out already.
        untold.append(EventID(source: Self.source, number: 1), after: UntrustedNumber(count))
        #expect(untold.take(recordedThrough: count).map(\.number) == [1])
    }

    @Test("stay owed beyond a bound, if what the receiver has named never comes")
    func bound() {
        var untold = UntoldEvents()
        for number in 1...UInt64(1 << 20) + 5 {
            untold.append(EventID(source: Self.source, number: number), after: .max)
        }
        #expect(untold.take(recordedThrough: .max - 1).isEmpty)
        #expect(untold.take(recordedThrough: .max).last?.number == 1 << 20)
        // There is room again.
        untold.append(EventID(source: Self.source, number: 7), after: 0)
        #expect(untold.take(recordedThrough: 0).map(\.number) == [7])
    }
}
