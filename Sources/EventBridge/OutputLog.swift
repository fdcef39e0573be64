import BridgePlatform
import Locks
import Synchronization

/// Numbers the lines of all workers of a host, so that the lines of a pool have an order.
final class OutputNumbers: Sendable {
    private let given = Atomic<UInt64>(0)

    /// The number that was given out last; the lines with smaller numbers are in their logs.
    var last: UInt64 { given.load(ordering: .acquiring) }

    /// Gives out a number; called by one thread, which adds the line to its log before it takes the next number.
    func next() -> UInt64 { given.wrappingAdd(1, ordering: .releasing).newValue }
}

/// The last lines that a worker has printed in all of its starts, for the clients that ask for them.
final class OutputLog: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    static let maximumLines = 1_000
    static let maximumBytes = 64 << 10
    /// How many bytes of one line are kept.
    static let maximumLineBytes = 4_096
    /// How many bytes a line counts for besides its own, as even an empty line takes room.
    static let lineBytes = 64

    struct Line: Sendable {
        let number: UInt64
        let nanosecondsSinceEpoch: UInt64
        let isError: Bool
        fileprivate(set) var bytes: [UInt8]
        let isCut: Bool

        fileprivate var room: Int { bytes.count + OutputLog.lineBytes }
    }

    private let numbers: OutputNumbers
    private let lock = Lock()
    private var lines: [Line] = []
    /// How many forgotten lines are still at the front: removing one moves all others, so the log removes many at once.
    private var forgotten = 0
    private var bytes = 0
    private var lastForgotten: UInt64 = 0

    init(_ numbers: OutputNumbers) { self.numbers = numbers }

    /// Adds a line under the next number.
    ///
    /// Only the thread that reads all output calls this, so a line is in its log before the next line gets its number.
    func add(_ line: LinePipe.Line, isError: Bool) {
        let isCut = line.bytes.count > Self.maximumLineBytes
        let kept = Line(
            number: numbers.next(),
            nanosecondsSinceEpoch: WallClock.now(),
            isError: isError,
            bytes: isCut ? Array(line.bytes.prefix(Self.maximumLineBytes)) : line.bytes,
            isCut: isCut
        )
        lock.withLock {
            lines.append(kept)
            bytes += kept.room
            while lines.count - forgotten > Self.maximumLines || bytes > Self.maximumBytes {
                bytes -= lines[forgotten].room
                lastForgotten = lines[forgotten].number
                lines[forgotten].bytes = []
                forgotten += 1
            }
            guard forgotten > Self.maximumLines else { return }
            lines.removeFirst(forgotten)
            forgotten = 0
        }
    }

    /// The oldest kept lines with a greater number, and whether any line with a greater number was forgotten.
    func lines(after number: UInt64, atMost count: Int) -> (lines: [Line], hasForgotten: Bool) {
        lock.withLock {
            (Array(lines[forgotten...].drop { $0.number <= number }.prefix(count)), lastForgotten > number)
        }
    }
}
