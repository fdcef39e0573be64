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
            if number % 2 == 1 { outbox.willOwe() }
            outbox.append(frameLength: 64, source: source, number: number)?
                .initializeMemory(as: UInt8.self, repeating: 0, count: 64)
            if number % 2 == 1 { outbox.lastIsOwed() }
        }
        var pieces: [UnsafeRawBufferPointer] = []
        outbox.compose(into: &pieces, maximumBytes: .max)
        outbox.composedWasWritten()
    }

    func acknowledge(_ mark: UInt64, after: UInt64 = 0) throws {
        _ = outbox.settle(try outbox.credit(Acknowledgement(mark: mark, after: after)))
    }

    /// - Returns: The event, if it is owed.
    func refuse(_ sequence: UntrustedNumber) throws -> EventID? { try outbox.refuse(sequence)?.owed }

    func refusalWasTold(settled event: EventID?) { outbox.refusalWasTold(settled: event) }

    var isUsed: Bool { outbox.untold.isUsed }

    func tell(recordedThrough sequence: UInt64 = 0) -> [UInt64] {
        var told: [UInt64] = []
        var numbers: [ClosedRange<UInt64>] = []
        while outbox.takeUntold(recordedThrough: sequence, into: &numbers) != nil { told += numbers.joined() }
        return told
    }

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
        #expect(sender.tell() == [])
        try sender.acknowledge(3)
        #expect(sender.tell() == [1, 3])
        #expect(sender.tell() == [])
        try sender.acknowledge(8)
        #expect(sender.tell() == [5, 7])
        #expect(sender.tell() == [])
    }

    @Test("A refused event is told when it is decided what becomes of it, and only if it is owed")
    func refused() throws {
        let sender = Sender(8)
        let refused = try sender.refuse(5)
        #expect(refused?.number == 5)
        // A dead letter of the event may be noted now.
        #expect(sender.tell() == [])
        sender.refusalWasTold(settled: refused)
        #expect(sender.tell() == [5])
        #expect(try sender.refuse(6) == nil)
        sender.refusalWasTold(settled: nil)
        try sender.acknowledge(8)
        #expect(sender.tell() == [1, 3, 7])
    }

    @Test("An event is told when the receiver's event is recorded that its acknowledgement names, and not out of turn")
    func after() throws {
        let sender = Sender(12)
        try sender.acknowledge(2, after: 3)
        try sender.acknowledge(4, after: 3)
        try sender.acknowledge(6, after: 9)
        try sender.acknowledge(8)
        #expect(sender.tell(recordedThrough: 2) == [])
        #expect(sender.tell(recordedThrough: 3) == [1, 3])
        #expect(sender.tell(recordedThrough: 8) == [])
        #expect(sender.tell(recordedThrough: 9) == [5, 7])
        try sender.acknowledge(12, after: .max)
        // Nothing comes as this number.
        #expect(sender.tell(recordedThrough: .max) == [9, 11])
    }

    @Test("An outbox that had an owed event stays one whose events may come again")
    func used() {
        #expect(!Sender(0).isUsed)
        #expect(Sender(1).isUsed)
    }

    @Test("No settled mark leaves with the first owed event, nor behind it", arguments: [false, true])
    func noMark(hasPolicies: Bool) throws {
        let policies: [String: OverflowPolicy] = hasPolicies ? ["Old": .dropOldest] : [:]
        let others = SendingSide(policies)
        others.put(5)
        #expect(try others.writeMarks() == ["5 below 5"])
        let side = SendingSide(policies)
        side.put(5, isOwed: true)
        #expect(try side.writeMarks() == ["5"])
        try side.acknowledge(1)
        side.put(6)
        #expect(try side.writeMarks() == ["6"])
    }

    @Test("No settled mark leaves to the next process of a receiver that had an owed event, not even with the first")
    func noMarkToTheNext() throws {
        let side = SendingSide()
        side.put(5, isOwed: true)
        side.put(6)
        try side.write()
        try side.acknowledge(1)
        let next = SendingSide()
        #expect(side.move(to: next) == nil)
        next.put(7)
        #expect(try next.writeMarks() == ["6", "7"])
        // Nothing is left to move, and the mark would say too much all the same.
        try next.acknowledge(2)
        let last = SendingSide()
        #expect(next.move(to: last) == nil)
        last.put(8)
        #expect(try last.writeMarks() == ["8"])
    }

    @Test("An event stays owed until it is settled, and its attempts count as before")
    func unsettled() throws {
        let sender = Sender(4)
        try sender.acknowledge(1)
        #expect(sender.unsettled == ["2 1 false", "3 1 true", "4 1 false"])
    }
}
