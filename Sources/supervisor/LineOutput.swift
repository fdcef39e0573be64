import BridgePlatform
import Locks

/// Writes lines to a file on a thread of its own: whole, in order, and many at a time when they come fast.
///
/// After a failed write, the writing ends and further lines are left out; but on a full disk, lines are left out only
/// until there is room. A slow reader fills the queue; each caller says what then becomes of its line.
final class LineOutput: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// What becomes of a line while the queue is full.
    enum WhenFull: Sendable {
        /// The caller waits for room: for lines that must not be lost, on threads that may wait.
        case wait
        /// The line is counted and left out.
        case leaveOut
        /// The line is taken all the same: for the few lines of threads that must not wait.
        case take
    }

    /// The queue is full at this many bytes: some seconds of lines at the speed of a terminal.
    static let capacity = 16 << 20

    private let file: SystemFile
    private let capacity: Int
    private let turns: WritingTurns
    /// Called on the writing thread at the first failed write, and at each failed write right after a successful one.
    private let onFailure: @Sendable (SystemFileError) -> Void
    private let lock = Lock()
    private let changed: Condition
    private var queue: [UInt8] = []
    private var leftOut = 0
    private var isWriting = false
    /// The failure after which nothing is written any more.
    private var end: SystemFileError?
    private var firstFailure: SystemFileError?
    private var waits = true
    private var isAbandoned = false

    init(
        _ file: SystemFile,
        name: String,
        capacity: Int = LineOutput.capacity,
        turns: WritingTurns = WritingTurns(),
        onFailure: @escaping @Sendable (SystemFileError) -> Void = { _ in }
    ) throws {
        self.file = file
        self.capacity = capacity
        self.turns = turns
        self.onFailure = onFailure
        changed = Condition(lock: lock)
        try PlatformThread.start(name: name) { [self] in writeForEver() }
    }

    /// Puts a line, given without a newline, into the queue.
    func write(_ line: [UInt8], whenFull: WhenFull) {
        lock.withLock {
            while whenFull == .wait, waits, end == nil, queue.count >= capacity { changed.wait() }
            if let end {
                if !end.hasNoReader { leftOut += 1 }
                return
            }
            guard queue.count < capacity || whenFull == .take else {
                leftOut += 1
                return
            }
            queue += line
            queue.append(UInt8(ascii: "\n"))
            changed.broadcast()
        }
    }

    func write(_ line: String, whenFull: WhenFull) {
        write(Array(line.utf8), whenFull: whenFull)
    }

    /// Lets no caller wait for room any more.
    func stopWaiting() {
        lock.withLock {
            waits = false
            changed.broadcast()
        }
    }

    /// Lets no caller wait for the reader any more, not even in ``flush()``.
    func abandon() {
        stopWaiting()
        lock.withLock {
            isAbandoned = true
            changed.broadcast()
        }
    }

    /// Whether the output has a reader; false once a write has failed for any reason except a full disk.
    var hasReader: Bool { lock.withLock { end == nil } }

    /// The first failure of a write, other than that the reader has gone; nil if there was none.
    var failure: SystemFileError? { lock.withLock { firstFailure } }

    /// Waits until everything is written, writing has ended because of a failure, or ``abandon()`` is called.
    ///
    /// - Returns: How many lines were left out so far; lines for a reader that has gone do not count.
    @discardableResult
    func flush() -> Int {
        lock.withLock {
            while end == nil, !isAbandoned, isWriting || !queue.isEmpty { changed.wait() }
            return leftOut
        }
    }

    private func writeForEver() {
        var isFailing = false
        var isTorn = false
        while true {
            let lines = lock.withLock {
                while queue.isEmpty { changed.wait() }
                defer { queue = [] }
                isWriting = true
                changed.broadcast()
                return queue
            }
            let newline = UInt8(ascii: "\n")
            turns.take()
            // After a line that was written in part, a newline keeps the next line from being taken for its rest.
            let outcome = file.write(isTorn ? [newline] + lines : lines)
            turns.giveBack()
            var failure: SystemFileError?
            var unwritten = 0
            if case .failed(let error, let count) = outcome {
                failure = error
                let written = max(0, isTorn ? count - 1 : count)
                if count > 0 { isTorn = written > 0 && lines[written - 1] != newline }
                unwritten = lines[written...].count { $0 == newline }
            } else {
                isTorn = false
            }
            let isOver = failure.map { !$0.hasNoRoom } ?? false
            lock.withLock {
                isWriting = false
                if let failure { note(failure, unwritten, isOver) }
                changed.broadcast()
            }
            if let failure, !isFailing { onFailure(failure) }
            isFailing = failure != nil
            if isOver { return }
        }
    }

    /// Counts the lines that are not written because of a failure; at the last failure, those that wait as well.
    private func note(_ failure: SystemFileError, _ unwritten: Int, _ isOver: Bool) {
        if !failure.hasNoReader {
            firstFailure = firstFailure ?? failure
            leftOut += unwritten
            if isOver { leftOut += queue.count { $0 == UInt8(ascii: "\n") } }
        }
        guard isOver else { return }
        end = failure
        queue = []
    }
}
