import BridgePlatform
import Locks

/// Sees to it that outputs which lead to the same file write one after the other, so that a line of one does not stand
/// in the middle of another's.
///
/// A write to a terminal or a pipe may be cut in two by a signal, or by the reader's pace.
final class WritingTurns: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// Of standard output.
    static let standardOutput = WritingTurns()

    /// Of standard error: the same ones if it leads to the same terminal, pipe or file.
    static let standardError: WritingTurns = {
        let error = SystemFile.standardError.identity
        return error != nil && error == SystemFile.standardOutput.identity ? standardOutput : WritingTurns()
    }()

    private let lock = Lock()
    private let changed: Condition
    private var isTaken = false

    init() {
        changed = Condition(lock: lock)
    }

    /// Waits until no other thread writes.
    func take() {
        lock.withLock {
            while isTaken { changed.wait() }
            isTaken = true
        }
    }

    func giveBack() {
        lock.withLock {
            isTaken = false
            changed.signal()
        }
    }
}
