import BridgePlatform
import Locks

/// Lets outputs to the same file write one after the other, so no output's text appears inside another's line.
///
/// Without turns that could happen: a signal or a slow reader may split a write to a terminal or a pipe.
final class WritingTurns: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The turns of standard output.
    static let standardOutput = WritingTurns()

    /// The turns of standard error: those of standard output if both lead to the same terminal, pipe or file.
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
