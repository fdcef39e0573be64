import BridgePlatform
import BridgeProtocol
import BridgeTransport
import CBOR
import Locks

/// A third party between two real ends of a link: drops, repeats, holds back, cuts and alters their frames, and sends
/// frames of its own.
///
/// It has a script for each direction. When both ends wait for frames, the meddler sends what the scripts say next; it
/// ends the link when both scripts have ended.
final class Meddler: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The end that a frame goes to.
    enum Side: Int {
        case host
        case worker

        var other: Side { self == .host ? .worker : .host }
    }

    /// The bytes that go to one of the ends.
    private struct Direction {
        var script: Script
        /// Written by the other end, and not yet a whole frame.
        var arriving: [UInt8] = []
        /// A frame that is kept until another has gone ahead of it.
        var heldBack: [UInt8] = []
        /// What the end reads next.
        var departing: ArraySlice<UInt8> = []
        var isEnded = false
        var isReaderGone = false
        var isReaderWaiting = false
    }

    let memory = MemoryFile.forOutbox(LinkLimits())
    let shelf = MemoryFile.forShelf()
    private let poller: Poller
    private let look: @Sendable () -> Void
    private let lock: Lock
    private let changed: Condition
    private var directions: [Direction]
    /// The worker's incarnation, from the host's welcome.
    private var incarnation: UInt64 = 0
    /// Whether the worker has nothing more to do by itself: it is ready, or may never become ready, because its
    /// handshake was meddled with.
    private var isSettled = false

    /// Two connected ends; the first is the host's.
    ///
    /// - Parameters:
    ///   - toHost: the script for the frames to the host.
    ///   - toWorker: the script for the frames to the worker.
    ///   - look: called before each read of the host, on the thread that reads.
    static func pair(
        toHost: Script,
        toWorker: Script,
        poller: Poller,
        look: @escaping @Sendable () -> Void
    ) -> (MeddledStream, MeddledStream) {
        let meddler = Meddler(toHost: toHost, toWorker: toWorker, poller: poller, look: look)
        return (MeddledStream(meddler, .host), MeddledStream(meddler, .worker))
    }

    private init(toHost: Script, toWorker: Script, poller: Poller, look: @escaping @Sendable () -> Void) {
        directions = [Direction(script: toHost), Direction(script: toWorker)]
        self.poller = poller
        self.look = look
        lock = Lock()
        changed = Condition(lock: lock)
    }

    // MARK: - What the ends do

    fileprivate func read(_ side: Side, into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        if side == .host { look() }
        return lock.withLock {
            while true {
                if directions[side.rawValue].isReaderGone { return .endOfStream }
                let departing = directions[side.rawValue].departing
                if !departing.isEmpty {
                    let count = min(departing.count, buffer.count)
                    buffer.copyBytes(from: departing.prefix(count))
                    directions[side.rawValue].departing = departing.dropFirst(count)
                    return .transferred(count)
                }
                if directions[side.rawValue].isEnded { return .endOfStream }
                directions[side.rawValue].isReaderWaiting = true
                if isAtRest { goOn() } else { changed.wait() }
                directions[side.rawValue].isReaderWaiting = false
            }
        }
    }

    /// Takes everything at once: the ends' windows limit how much is on its way.
    fileprivate func write(from side: Side, _ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        let target = side.other
        return lock.withLock {
            let direction = directions[target.rawValue]
            guard !direction.isEnded, !direction.isReaderGone else { return .endOfStream }
            for piece in pieces { directions[target.rawValue].arriving += piece }
            while let frame = nextFrame(target) { pass(frame, to: target) }
            changed.broadcast()
            return .transferred(pieces.reduce(0) { $0 + $1.count })
        }
    }

    fileprivate func whenWritable(_ body: @escaping @Sendable () -> Void) { poller.perform(body) }

    /// Sends nothing more to this end.
    fileprivate func end(to side: Side) {
        lock.withLock {
            directions[side.rawValue].isEnded = true
            changed.broadcast()
        }
    }

    fileprivate func close(_ side: Side) {
        lock.withLock {
            directions[side.rawValue].isReaderGone = true
            directions[side.other.rawValue].isEnded = true
            changed.broadcast()
        }
    }

    // MARK: - Meddling

    /// The caller holds the lock.
    private func nextFrame(_ side: Side) -> [UInt8]? {
        let arriving = directions[side.rawValue].arriving
        let step = arriving.withUnsafeBytes { try? FrameDecoder(limit: 1 << 30).next(in: $0) }
        guard case .frame(let length)? = step else { return nil }
        directions[side.rawValue].arriving.removeFirst(length)
        return Array(arriving.prefix(length))
    }

    /// The caller holds the lock.
    private func pass(_ frame: [UInt8], to side: Side) {
        frame.withUnsafeBytes { bytes in
            let body = UnsafeRawBufferPointer(rebasing: bytes[FrameDecoder.headBytes...])
            if ControlMessage.kind(of: body) == FrameKind.ready.rawValue { isSettled = true }
            if let welcome = Welcome(atStartOf: bytes) { incarnation = welcome.workerIncarnation }
        }
        var direction = directions[side.rawValue]
        let choice = direction.script.choice(24)
        if (1...7).contains(choice) { isSettled = true }
        switch choice {
        case 1: break
        case 2: direction.departing += frame + frame
        case 3: direction.heldBack += frame
        case 4:
            direction.departing += frame.prefix(direction.script.choice(frame.count))
            direction.isEnded = true
        case 5:
            // The frame's end is missing, and the reader takes the next bytes for that end.
            let count = direction.script.choice(frame.count)
            direction.departing += frame.dropLast(count)
        case 6:
            var frame = frame
            for _ in 0...direction.script.choice(3) {
                frame[direction.script.choice(min(frame.count, 256))] = direction.script.byte()
            }
            direction.departing += frame
        case 7:
            direction.departing += invented(&direction.script)
            direction.departing += frame
        default: direction.departing += frame
        }
        if choice != 3 {
            direction.departing += direction.heldBack
            direction.heldBack = []
        }
        directions[side.rawValue] = direction
    }

    private func invented(_ script: inout Script) -> [UInt8] {
        let bytes = CBORBuffer()
        HostileFrames.writeFrame(into: bytes, from: incarnation, &script)
        return bytes.copied()
    }

    /// Whether the two ends wait for each other, and nothing is on its way.
    ///
    /// The caller holds the lock.
    private var isAtRest: Bool {
        isSettled && directions.allSatisfy { $0.isReaderWaiting && $0.departing.isEmpty && !$0.isEnded }
    }

    /// Sends something to one of the ends, or ends the link when both scripts are at their end.
    ///
    /// The caller holds the lock.
    private func goOn() {
        for index in directions.indices where !directions[index].script.isAtEnd {
            // An end that acts by itself does so within two milliseconds.
            let waits = directions[index].script.choice(8) == 7
            if waits, changed.wait(untilNanoseconds: MonotonicClock.now() + 3_000_000) { return }
            directions[index].departing += directions[index].heldBack + invented(&directions[index].script)
            directions[index].heldBack = []
            return changed.broadcast()
        }
        for index in directions.indices { directions[index].isEnded = true }
        changed.broadcast()
    }
}

/// One of the two ends.
final class MeddledStream: ByteStream {
    private let meddler: Meddler
    private let side: Meddler.Side

    fileprivate init(_ meddler: Meddler, _ side: Meddler.Side) {
        self.meddler = meddler
        self.side = side
    }

    deinit {
        close()
    }

    var memory: MemoryFile? { meddler.memory }
    var shelf: MemoryFile? { meddler.shelf }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome { meddler.read(side, into: buffer) }
    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome { meddler.write(from: side, pieces) }
    func whenWritable(_ body: @escaping @Sendable () -> Void) { meddler.whenWritable(body) }
    func finishWriting() { meddler.end(to: side.other) }
    func finishReading() { meddler.end(to: side) }
    func close() { meddler.close(side) }
}
