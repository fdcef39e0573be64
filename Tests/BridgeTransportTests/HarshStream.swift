import BridgePlatform
import BridgeProtocol
import BridgeTransport
import Locks
import TestSupport

/// Does to a stream everything that may happen to one: moves a single byte or all bytes, has no room although there was
/// some, has room late, reads nothing, is interrupted by signals, and lets its reader pause.
final class HarshStream: PassingStream, @unchecked Sendable {
    // Sendable: everything mutable that it adds is guarded by `lock`.

    /// The faults that happened to a stream.
    struct Deeds: Sendable {
        var reads = 0
        var writes = 0
        var inventedBlocks = 0
        var realBlocks = 0
        var emptyReads = 0
        var pauses = 0
        /// After how many bytes of a frame reads have ended, so that the rest came with another read.
        var cuts: Set<Int> = []
    }

    /// Where a small frame can be cut.
    static let smallCuts = 1...48

    private let lock = Lock()
    private var random: SeededGenerator
    private var done = Deeds()
    private var isInvented = false
    private var split = FrameSplit()
    private let poller: Poller
    private let interruptions: Interruptions
    /// Where the other side's writer and this side's reader meet.
    private let incoming: Encounters
    private let outgoing: Encounters

    init(
        _ inner: any ByteStream,
        random: SeededGenerator,
        poller: Poller,
        interruptions: Interruptions,
        incoming: Encounters,
        outgoing: Encounters
    ) {
        self.random = random
        self.poller = poller
        self.interruptions = interruptions
        self.incoming = incoming
        self.outgoing = outgoing
        super.init(inner)
    }

    var deeds: Deeds { lock.withLock { done } }

    /// The most bytes to move; mostly so few that the call ends inside a small frame.
    ///
    /// The caller holds the lock.
    private func drawSize() -> Int {
        switch Int.random(in: 0..<64, using: &random) {
        case 0: .max
        case 1...4: Int.random(in: 1...4_000, using: &random)
        case 5...31: Int.random(in: 1...9, using: &random)
        default: Int.random(in: 1...100, using: &random)
        }
    }

    /// How many bytes to read so that the read ends inside a small frame at a place where none has ended yet: in a
    /// short run, chance alone may leave a place out.
    ///
    /// The caller holds the lock.
    private func drawCut() -> Int? {
        Self.smallCuts.filter { $0 > split.have && !done.cuts.contains($0) }.randomElement(using: &random)
            .map { $0 - split.have }
    }

    /// True once in this many times.
    ///
    /// The caller holds the lock.
    private func happens(onceIn times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }

    override func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        let size: Int? = lock.withLock {
            done.writes += 1
            isInvented = happens(onceIn: 16)
            if isInvented { done.inventedBlocks += 1 }
            return isInvented ? nil : drawSize()
        }
        guard var left = size else { return .wouldBlock }
        var some: [UnsafeRawBufferPointer] = []
        for piece in pieces where left > 0 {
            some.append(UnsafeRawBufferPointer(rebasing: piece.prefix(left)))
            left -= min(left, piece.count)
        }
        let outcome = interruptions.exposing { super.write(some) }
        if outcome == .wouldBlock {
            lock.withLock { done.realBlocks += 1 }
            outgoing.met()
        }
        return outcome
    }

    override func whenWritable(_ body: @escaping @Sendable () -> Void) {
        let (wasInvented, delay) = lock.withLock {
            (isInvented, happens(onceIn: 4) ? UInt64.random(in: 1...500_000, using: &random) : 0)
        }
        if !wasInvented {
            super.whenWritable(body)
        } else if delay == 0 {
            poller.perform(body)
        } else {
            poller.schedule(after: delay, body)
        }
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        enum Plan {
            case pauses(nanoseconds: UInt64)
            case readsNothing
            case reads
        }
        let (plan, size): (Plan, Int) = lock.withLock {
            done.reads += 1
            let size = happens(onceIn: 8) ? drawCut() ?? drawSize() : drawSize()
            // One happens for certain: in a short run, chance alone may leave out such a rare fault.
            if happens(onceIn: 500) || done.reads == 50 {
                done.pauses += 1
                return (.pauses(nanoseconds: UInt64.random(in: 1...5_000_000, using: &random)), size)
            }
            if happens(onceIn: 64) {
                done.emptyReads += 1
                return (.readsNothing, size)
            }
            return (.reads, size)
        }
        outgoing.readerCame()
        switch plan {
        case .readsNothing: return .wouldBlock
        // Until the other side's writer finds no room.
        case .pauses(let nanoseconds): incoming.waitForWriter(atMost: nanoseconds)
        case .reads: break
        }
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(size))
        let outcome = interruptions.exposing { super.read(into: part) }
        if case .transferred(let count) = outcome {
            lock.withLock {
                let offset = split.advance(over: UnsafeRawBufferPointer(part).prefix(count))
                if offset > 0 { done.cuts.insert(offset) }
            }
        }
        return outcome
    }
}

/// Follows the frames in a stream of bytes, which may come in any pieces.
private struct FrameSplit {
    /// How many bytes of the present frame have come.
    private(set) var have = 0
    private var length = 0

    /// - Returns: How many bytes of an unfinished frame these bytes end with; 0 if the last frame is whole.
    mutating func advance(over bytes: Slice<UnsafeRawBufferPointer>) -> Int {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if have < FrameDecoder.headBytes {
                length = (have == 0 ? 0 : length) << 8 | Int(bytes[index])
                have += 1
                index += 1
            } else {
                let step = min(bytes.endIndex - index, FrameDecoder.headBytes + length - have)
                have += step
                index += step
            }
            if have >= FrameDecoder.headBytes, have == FrameDecoder.headBytes + length { have = 0 }
        }
        return have
    }
}

/// Lets the two ends of a stream's direction and the handlers behind it wait for each other, for a limited time.
final class Encounters: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private let changed: Condition
    private var blocks = 0
    private var reads = 0

    init() {
        changed = Condition(lock: lock)
    }

    /// Notes that a writer found no room.
    func met() {
        lock.withLock {
            blocks += 1
            changed.broadcast()
        }
    }

    /// Notes that a reader came back for more.
    func readerCame() {
        lock.withLock {
            reads += 1
            changed.broadcast()
        }
    }

    func waitForWriter(atMost nanoseconds: UInt64) {
        wait(atMost: nanoseconds) { $0.blocks }
    }

    func waitForReader(atMost nanoseconds: UInt64) {
        wait(atMost: nanoseconds) { $0.reads }
    }

    private func wait(atMost nanoseconds: UInt64, for count: (Encounters) -> Int) {
        let deadline = MonotonicClock.now() + nanoseconds
        lock.withLock {
            let before = count(self)
            while count(self) == before, changed.wait(untilNanoseconds: deadline) {}
        }
    }
}
