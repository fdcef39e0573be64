import DomainEvents
import JournalFormat
import Locks

/// The events of one name on their way into a journal.
final class JournalLine: RecordingLine, @unchecked Sendable {
    // Sendable: everything mutable is guarded by the journal's lock.
    let name: String
    private let core: JournalCore
    @exclusivity(unchecked) private var plain: PlainRecords?

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
        let isRecorded = core.lock.withLock {
            // An error is not reported here: the caller then records the event in the usual way, and gets it again.
            do throws(JournalError) {
                let isSafe = try core.appendHere(payload, on: self, context: context, owed: owed, whenSettled: nil)
                assert(isSafe != false, "the journal makes events safe only later")
                return isSafe != nil
            } catch {
                return false
            }
        }
        if isRecorded { core.wasRecorded() }
        return isRecorded
    }

    /// The records of this name's plain events of one source; nil if a text is too long for the format.
    ///
    /// Called with the journal's lock held.
    func plainRecords(of source: Unmanaged<EventSource>) -> PlainRecords? {
        if let plain, plain.areOf(source) { return plain }
        plain = try? PlainRecords(name: name, source: source.takeUnretainedValue())
        return plain
    }
}
