import BridgeProtocol
import DomainEvents
import Testing

/// An outbox with events that were written; those with odd numbers are owed.
///
/// A class around a value that cannot be copied, because `#expect` cannot look into such a value.
private final class Sender {
    private var outbox = Outbox(limits: LinkLimits())
    private let source = EventSource(origin: "host", incarnation: 1)

    init(_ count: UInt64) {
        for number in 0..<count {
            let number = number + 1
            outbox.append(frameLength: 64, source: source, number: number)?
                .initializeMemory(as: UInt8.self, repeating: 0, count: 64)
            if number % 2 == 1 { outbox.lastIsOwed() }
        }
        var pieces: [UnsafeRawBufferPointer] = []
        outbox.compose(into: &pieces, maximumBytes: .max)
        outbox.composedWasWritten()
    }

    func acknowledge(_ mark: UInt64) throws { _ = outbox.settle(try outbox.credit(Acknowledgement(mark: mark))) }

    func refuse(_ sequence: UntrustedNumber) throws { _ = try outbox.refuse(sequence) }

    var isUsed: Bool { outbox.untold.isUsed }

    func isOwed(_ sequence: UInt64) -> Bool { outbox.isOwed(sequence) }

    func tell() -> [UInt64]? { outbox.untold.tell()?.map(\.number) }

    func wasTold(of count: Int) { outbox.untold.wereTold(count) }

    var unsettled: [String] {
        var found: [String] = []
        outbox.forEachUnsettled { found.append("\($0.number) \($0.attempts) \($0.isOwed)") }
        return found
    }
}

/// What an outbox tells of settled events of which a journal has to hear.
@Suite("Owed events in an outbox")
struct OwedEventTests {
    @Test("Each owed event is told once when it is acknowledged or refused, and no other event")
    func told() throws {
        let sender = Sender(8)
        #expect(sender.tell() == nil)
        try sender.acknowledge(3)
        try sender.refuse(5)
        #expect(sender.isOwed(5) && !sender.isOwed(6) && !sender.isOwed(99))
        #expect(sender.tell() == [1, 3, 5])
        // Another thread does not tell the same, and what is settled meanwhile is told next.
        #expect(sender.tell() == nil)
        try sender.acknowledge(8)
        sender.wasTold(of: 3)
        #expect(sender.tell() == [7])
        sender.wasTold(of: 1)
        #expect(sender.tell() == nil)
    }

    @Test("An outbox that had an owed event stays one whose events may come again")
    func used() {
        #expect(!Sender(0).isUsed)
        #expect(Sender(1).isUsed)
    }

    @Test("An event stays owed until it is settled, and its attempts count as before")
    func unsettled() throws {
        let sender = Sender(4)
        try sender.acknowledge(1)
        #expect(sender.unsettled == ["2 1 false", "3 1 true", "4 1 false"])
    }
}
