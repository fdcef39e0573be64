import BridgePlatform
import BridgeProtocol
import DomainEvents
import Foundation
import Locks
import TestSupport

@testable import BridgeTransport

/// The connections between the two ends of a link.
enum Carrier: CaseIterable, Sendable {
    case socket
    case memory

    func pair(_ poller: Poller) throws -> (any ByteStream, any ByteStream) {
        switch self {
        case .memory: return MemoryStream.pair(poller: poller)
        case .socket:
            let pair = try UnixSocket.pair()
            return try Self.streams(pair, poller)
        }
    }

    private static func streams(
        _ pair: consuming UnixSocket.Pair,
        _ poller: Poller
    ) throws -> (any ByteStream, any ByteStream) {
        // The ends of a pair can be taken one at a time only as duplicates.
        let first = try FileDescriptor.duplicate(pair.first.rawValue)
        let second = try FileDescriptor.duplicate(pair.second.rawValue)
        let memory = MemoryFile.forOutbox(LinkLimits())
        let shelf = MemoryFile.forShelf()
        return (
            UnixStream(first, memory: memory, shelf: shelf, poller: poller),
            UnixStream(second, memory: memory, shelf: shelf, poller: poller)
        )
    }
}

extension Link {
    /// Acknowledges what is handled, without waiting for a batch that leaves anyway.
    func acknowledgeNow() {
        lock.withLock { receiving.acknowledgementIsDue() }
        pump()
    }
}

/// A value that several threads change and one waits for.
final class Shared<Value: Sendable>: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private let changed: Condition
    private var content: Value

    init(_ content: Value) {
        self.content = content
        changed = Condition(lock: lock)
    }

    var value: Value { lock.withLock { content } }

    func change(_ body: (inout Value) -> Void) {
        lock.withLock {
            body(&content)
            changed.broadcast()
        }
    }

    /// Returns once `condition` holds, at most after four minutes; says whether it does.
    ///
    /// The limit is no statement about speed: it turns a hang, which no test could report, into a failure.
    @discardableResult
    func wait(until condition: (Value) -> Bool) -> Bool {
        let deadline = MonotonicClock.now() + 240_000_000_000
        return lock.withLock {
            while !condition(content) {
                if !changed.wait(untilNanoseconds: deadline), !condition(content) { return false }
            }
            return true
        }
    }
}

extension ByteStream {
    func write(_ bytes: [UInt8]) -> IOOutcome {
        bytes.withUnsafeBytes { write([$0]) }
    }

    func read(upTo count: Int = 1 << 16) -> (outcome: IOOutcome, bytes: [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: count)
        let outcome = bytes.withUnsafeMutableBytes { read(into: $0) }
        guard case .transferred(let read) = outcome else { return (outcome, []) }
        return (outcome, Array(bytes[..<read]))
    }

    /// All bytes until the end of the stream.
    func readToEnd() -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let (outcome, bytes) = read()
            guard case .transferred = outcome else { return all }
            all += bytes
        }
    }

    /// Writes until the stream takes no more; returns how many bytes that was.
    func fill() -> Int {
        var total = 0
        let chunk = [UInt8](repeating: 7, count: 50_000)
        while case .transferred(let count) = write(chunk) { total += count }
        return total
    }
}

/// Passes everything on to another stream, so that a test can look or interfere.
class PassingStream: ByteStream, @unchecked Sendable {
    // Sendable: constant; subclasses guard what they add.
    let inner: any ByteStream
    var memory: MemoryFile? { inner.memory }
    var shelf: MemoryFile? { inner.shelf }

    init(_ inner: any ByteStream) {
        self.inner = inner
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome { inner.read(into: buffer) }
    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome { inner.write(pieces) }
    func whenWritable(_ body: @escaping @Sendable () -> Void) { inner.whenWritable(body) }
    func finishWriting() { inner.finishWriting() }
    func finishReading() { inner.finishReading() }
    func close() { inner.close() }
}

/// A stream without shared memory, as if the system had refused it.
final class BareStream: PassingStream, @unchecked Sendable {
    override var memory: MemoryFile? { nil }
    override var shelf: MemoryFile? { nil }
}

/// The calling thread: unlike a thread's number, this never means another thread later.
struct ThreadMark: Equatable, @unchecked Sendable {
    // Sendable: only the object's identity is used.
    private let thread = Thread.current

    static func == (one: ThreadMark, other: ThreadMark) -> Bool { one.thread === other.thread }
}

/// Notes on which thread each write happens.
final class WatchedStream: PassingStream, @unchecked Sendable {
    // Sendable: what it adds is guarded by its own lock.

    let writes = Shared<[ThreadMark]>([])

    override func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        let mark = ThreadMark()
        writes.change { $0.append(mark) }
        return super.write(pieces)
    }
}

/// Holds each write back while it is not open.
final class GatedStream: PassingStream, @unchecked Sendable {
    // Sendable: what it adds is guarded by its own lock.
    let isOpen = Shared(true)
    let isHeld = Shared(false)
    let count = Shared(0)

    override func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        count.change { $0 += 1 }
        isHeld.change { $0 = !isOpen.value }
        isOpen.wait { $0 }
        return super.write(pieces)
    }
}

/// Writes only a random part, and sometimes nothing although there was room; reads in random pieces.
final class ChunkingStream: PassingStream, @unchecked Sendable {
    // Sendable: what it adds is guarded by its own lock.
    private let random: Shared<SeededGenerator>
    private let poller: Poller
    private let isBlocking = Shared(false)

    init(_ inner: any ByteStream, random: SeededGenerator, poller: Poller) {
        self.random = Shared(random)
        self.poller = poller
        super.init(inner)
    }

    private func draw(_ range: ClosedRange<Int>) -> Int {
        var drawn = 0
        random.change { drawn = Int.random(in: range, using: &$0) }
        return drawn
    }

    private func drawSize() -> Int { draw(0...3) == 0 ? draw(1...9) : draw(1...40_000) }

    override func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        if draw(0...9) == 0 {
            isBlocking.change { $0 = true }
            return .wouldBlock
        }
        var left = drawSize()
        var some: [UnsafeRawBufferPointer] = []
        for piece in pieces where left > 0 {
            some.append(UnsafeRawBufferPointer(rebasing: piece.prefix(left)))
            left -= min(left, piece.count)
        }
        return super.write(some)
    }

    override func whenWritable(_ body: @escaping @Sendable () -> Void) {
        var wasInvented = false
        isBlocking.change {
            wasInvented = $0
            $0 = false
        }
        if wasInvented { poller.perform(body) } else { super.whenWritable(body) }
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        super.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(drawSize())))
    }
}
