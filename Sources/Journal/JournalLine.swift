import DomainEvents
import JournalFormat
import Locks

/// The events of one name on their way into a journal.
final class JournalLine: RecordingLine, @unchecked Sendable {
    // Sendable: everything mutable is guarded by the journal's lock.
    let name: String
    private let core: JournalCore
    /// The records of plain events that are alike.
    @exclusivity(unchecked) private var plain: PlainRecords?
    /// How many plain events in a row were not like those of `plain`; for a new `plain` the count begins below 0.
    @exclusivity(unchecked) private var others = 0
    /// After how many such events the line makes `plain` anew.
    ///
    /// Making `plain` takes longer than recording an event. So unlike events that alternate do not each cause it.
    private static let mostOthers = 4
    /// The limit for a `plain` that has served no event: perhaps no two events of this name in a row are alike.
    private static let mostOthersOfUnused = 16

    init(_ name: String, of core: JournalCore) {
        self.name = name
        self.core = core
    }

    func makeRoom(for byteCount: Int) { core.makeRoom(for: byteCount) }

    func record(
        _ payload: UnsafeRawBufferPointer,
        context: BorrowedContext,
        owed: [OwedReceiver],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws -> Bool {
        try core.append(payload, on: self, context: context, owed: owed, whenSettled: whenSettled)
    }

    func recordAtOnce(_ payload: UnsafeRawBufferPointer, context: BorrowedContext, owed: [OwedReceiver]) -> Bool {
        // The journal holds the lock, so no reference to the lock is counted.
        let isRecorded = Unmanaged.passUnretained(core.lock)._withUnsafeGuaranteedRef { lock in
            lock.withLock {
                // No error is reported here: the caller then records the event in the usual way, and gets the error
                // again.
                do throws(JournalError) {
                    let isSafe = try core.appendHere(payload, on: self, context: context, owed: owed, whenSettled: nil)
                    assert(isSafe != false, "the journal makes events safe only later")
                    return isSafe != nil
                } catch {
                    return false
                }
            }
        }
        if isRecorded { core.wasRecorded() }
        return isRecorded
    }

    /// The size of a plain event's record, and the object that writes it; nil if the event is not like those before it.
    ///
    /// Called with the journal's lock held. The object lives at least until the next call.
    @inline(__always)
    func plainRecord(
        of context: BorrowedContext,
        owed: [OwedReceiver],
        payloadBytes: Int
    ) -> (record: EventRecord, records: Unmanaged<PlainRecords>)? {
        // A constant for `plain` would count a reference to it.
        if let records = plain.map({ Unmanaged.passUnretained($0) }) {
            let record = records._withUnsafeGuaranteedRef {
                $0.record(of: context, owed: owed, payloadBytes: payloadBytes)
            }
            if let record {
                others = 0
                return (record, records)
            }
        }
        otherCame(context, owed)
        return nil
    }

    @inline(never)
    private func otherCame(_ context: BorrowedContext, _ owed: [OwedReceiver]) {
        others += 1
        guard others == Self.mostOthers else { return }
        others = Self.mostOthers - Self.mostOthersOfUnused
        // Nil if a text is too long for the format: such events are refused, each with the reason.
        plain = try? PlainRecords(name: name, like: context, owed: owed)
    }
}
