import BridgePlatform
import Locks

/// Writes lines to a file on a thread of its own: whole, in order, many at a time when they come fast.
///
/// A reader that goes away ends the writing and nothing else. One that is slow fills the queue; what happens then is for
/// whoever has the line to say.
final class LineOutput: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// What becomes of a line while the queue is full.
    enum WhenFull: Sendable {
        /// The caller waits until there is room: for lines that must not be lost, on threads that may wait.
        case wait
        /// It is counted and left out.
        case leaveOut
        /// It is taken all the same: for the few lines of threads that must not wait.
        case take
    }

    /// Some seconds of lines as fast as a terminal shows them.
    static let capacity = 16 << 20

    private let file: SystemFile
    private let capacity: Int
    private let lock = Lock()
    private let changed: Condition
    private var queue: [UInt8] = []
    private var leftOut = 0
    private var isWriting = false
    private var isBroken = false
    private var waits = true
    private var isAbandoned = false

    init(_ file: SystemFile, name: String, capacity: Int = LineOutput.capacity) throws {
        self.file = file
        self.capacity = capacity
        changed = Condition(lock: lock)
        try PlatformThread.start(name: name) { [self] in writeForEver() }
    }

    /// Puts a line into the queue, without its end.
    func write(_ line: [UInt8], whenFull: WhenFull) {
        lock.withLock {
            while whenFull == .wait, waits, !isBroken, queue.count >= capacity { changed.wait() }
            guard !isBroken else { return }
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

    /// From now on nobody waits for room.
    func stopWaiting() {
        lock.withLock {
            waits = false
            changed.broadcast()
        }
    }

    /// From now on nobody waits for the reader at all, not even at the end.
    func abandon() {
        stopWaiting()
        lock.withLock {
            isAbandoned = true
            changed.broadcast()
        }
    }

    /// Waits until everything is written or nobody reads any more.
    ///
    /// - Returns: How many lines were left out so far.
    @discardableResult
    func flush() -> Int {
        lock.withLock {
            while !isBroken, !isAbandoned, isWriting || !queue.isEmpty { changed.wait() }
            return leftOut
        }
    }

    private func writeForEver() {
        while true {
            let lines = lock.withLock {
                while queue.isEmpty { changed.wait() }
                defer { queue = [] }
                isWriting = true
                changed.broadcast()
                return queue
            }
            let isWritten = file.write(lines)
            let goesOn = lock.withLock {
                isWriting = false
                isBroken = !isWritten
                if isBroken { queue = [] }
                changed.broadcast()
                return isWritten
            }
            guard goesOn else { return }
        }
    }
}
