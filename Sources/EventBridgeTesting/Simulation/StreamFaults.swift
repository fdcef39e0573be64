import BridgePlatform
import BridgeTransport
import Locks

/// The faults of reads and writes at one end of a stream.
struct StreamFaults: Sendable {
    /// How many bytes a read or write moves at most; 0 for no limit.
    var pieces: UInt64 = 0
    /// How long a read is delayed at most, in nanoseconds; 0 for no delay.
    var delay: UInt64 = 0
    /// How many bytes are read in a second; 0 for no limit.
    var rate: UInt64 = 0
    /// The seed for the lengths of pieces and delays.
    var seed: UInt64 = 0

    /// Whether reads have no faults.
    var leaveReadingAlone: Bool { delay == 0 && pieces == 0 && rate == 0 }
}

/// One end of a stream in a world: splits, delays and slows the bytes of the stream under it, which has no faults.
final class FaultyStream: ByteStream, @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.
    private let inner: any ByteStream
    private let world: WorldCore
    private var faults: StreamFaults
    private var numbers: SeededNumbers
    /// Whether the next frame breaks the protocol because the test has asked for it.
    private var isGarbled = false
    /// The frames that were written.
    private var written = PassingFrames()
    /// Sees the bytes that pass the host's end of a worker's stream; nil at any other end of a stream.
    private let watch: SettlementWatch?

    init(_ inner: any ByteStream, _ faults: StreamFaults, watch: SettlementWatch? = nil, in world: WorldCore) {
        self.inner = inner
        self.world = world
        self.faults = faults
        self.watch = watch
        numbers = SeededNumbers(seed: faults.seed)
    }

    var memory: MemoryFile? { inner.memory }
    var shelf: MemoryFile? { inner.shelf }
    var finding: StreamFinding? { inner.finding }

    /// Limits how many bytes are read in a second; 0 for no limit.
    func slow(to rate: UInt64) { faults.rate = rate }

    /// Breaks the protocol where the next frame begins: wrong bytes within a frame might only change an event.
    func garble() { isGarbled = true }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        let outcome = readSome(into: buffer)
        if let watch, case .transferred(let count) = outcome {
            watch.hostRead(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        return outcome
    }

    private func readSome(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        guard !faults.leaveReadingAlone, !world.isCalm else { return inner.read(into: buffer) }
        // A read takes at most the bytes of 50 ms, so that the end of the stream is not noticed too late.
        let atOnce = faults.rate == 0 ? Int.max : Int(faults.rate / 20) + 1
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(min(size, atOnce)))
        let outcome = inner.read(into: part)
        noteSplit(outcome, part.count)
        if faults.delay > 0 {
            world.wasMet("delay")
            world.scheduler.sleep(nanoseconds: numbers.next(below: faults.delay))
        }
        if faults.rate > 0, case .transferred(let count) = outcome {
            world.wasMet("slow reader")
            world.scheduler.sleep(nanoseconds: UInt64(count) * 1_000_000_000 / faults.rate)
        }
        return outcome
    }

    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        // No other thread of the world runs between the two calls, so the watch sees the write before any answer to it.
        let outcome = writeSome(pieces)
        guard case .transferred(let count) = outcome else { return outcome }
        if let watch {
            watch.hostWrote(pieces, count: count)
        } else {
            written.pass(pieces, count: count) { _ in }
        }
        return outcome
    }

    private func writeSome(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        if isGarbled {
            let missing = written.missing
            if missing > 0 { return inner.write(pieces.first(missing)) }
            isGarbled = false
            let count = pieces.reduce(0) { $0 + $1.count }
            return [UInt8](repeating: 0xff, count: count).withUnsafeBytes { inner.write([$0]) }
        }
        guard faults.pieces > 0, !world.isCalm else { return inner.write(pieces) }
        let some = pieces.first(size)
        let outcome = inner.write(some)
        noteSplit(outcome, some.reduce(0) { $0 + $1.count })
        return outcome
    }

    /// Counts a split if exactly the allowed number of bytes was transferred: the transfer was most likely cut.
    private func noteSplit(_ outcome: IOOutcome, _ limit: Int) {
        if faults.pieces > 0, outcome == .transferred(limit) { world.wasMet("split") }
    }

    private var size: Int { faults.pieces == 0 ? .max : Int(numbers.next(below: faults.pieces)) + 1 }

    func whenWritable(_ body: @escaping @Sendable () -> Void) { inner.whenWritable(body) }
    func finishWriting() { inner.finishWriting() }
    func finishReading() { inner.finishReading() }
    func close() { inner.close() }
}
