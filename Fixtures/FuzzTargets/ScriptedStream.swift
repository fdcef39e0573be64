import BridgePlatform
import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import EventBridge
import Locks

/// A worker's end of a link: a script makes frame after frame, and the target may look at the host before each.
///
/// Without a script it is a worker that takes everything and acknowledges nothing, until it is told to end.
final class ScriptedStream: ByteStream, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    let memory = SharedMemory.common?.file
    private let cookie: String
    private let poller: Poller
    private let look: @Sendable () -> Void
    private let whenOver: @Sendable () -> Void
    private let lock: Lock
    private let changed: Condition
    private var script: Script
    private let hasScript: Bool
    private var frame: ArraySlice<UInt8> = []
    private var frames = 0
    private var isOver = false
    /// The worker's incarnation, from the host's welcome.
    private var incarnation: UInt64 = 0

    /// - Parameters:
    ///   - order: the host's launch order.
    ///   - look: called before each frame, on the thread that reads.
    ///   - whenOver: called when the script has ended, or the host has ended the link.
    init(
        _ script: Script?,
        _ order: LaunchOrder,
        look: @escaping @Sendable () -> Void,
        whenOver: @escaping @Sendable () -> Void
    ) {
        self.script = script ?? Script(UnsafeRawBufferPointer(start: nil, count: 0))
        hasScript = script != nil
        lock = Lock()
        changed = Condition(lock: lock)
        cookie = order.cookie
        poller = order.poller
        self.look = look
        self.whenOver = whenOver
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        look()
        let count = lock.withLock {
            if frame.isEmpty, !isOver { frame = nextFrame()[...] }
            if isOver { frame = [] }
            let count = min(frame.count, buffer.count)
            buffer.copyBytes(from: frame.prefix(count))
            frame = frame.dropFirst(count)
            return count
        }
        guard count > 0 else {
            poller.perform(whenOver)
            return .endOfStream
        }
        return .transferred(count)
    }

    /// The next frame; empty at the end of the script.
    private func nextFrame() -> [UInt8] {
        defer { frames += 1 }
        let bytes = CBORBuffer()
        switch frames {
        // Most scripts begin with a correct hello, because without one the host would never read the other frames.
        case 0 where !hasScript: ControlMessage.hello(Self.greedy(cookie)).encode(into: bytes)
        case 0 where script.choice(16) != 15:
            ControlMessage.hello(HostileFrames.hello(cookie, &script)).encode(into: bytes)
        case 1 where script.choice(8) != 7: ControlMessage.interest(Self.needed).encode(into: bytes)
        case 2 where script.choice(8) != 7: ControlMessage.ready.encode(into: bytes)
        default:
            while !hasScript, !isOver { changed.wait() }
            // Zero bytes would be the end of the stream.
            while !script.isAtEnd, bytes.count == 0 {
                HostileFrames.writeFrame(into: bytes, from: incarnation, &script)
            }
        }
        return bytes.copied()
    }

    /// The interest that the worker's specification declares.
    private static let needed = Interest(
        wanted: [.init(number: 1, name: Posed.eventName), .init(number: 2, name: Heard.eventName)]
    )

    private static func greedy(_ cookie: String) -> Hello {
        Hello(
            name: "peer",
            cookie: cookie,
            library: "",
            windowBytes: 1 << 40,
            windowEvents: 1 << 20,
            frameBytes: 1 << 30,
            features: .acknowledgesNothing
        )
    }

    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        if let first = pieces.first, let welcome = Welcome(atStartOf: first) {
            lock.withLock { incarnation = welcome.workerIncarnation }
        }
        return .transferred(pieces.reduce(0) { $0 + $1.count })
    }

    func whenWritable(_ body: @escaping @Sendable () -> Void) { poller.perform(body) }
    func finishWriting() {}
    func finishReading() { end() }
    func close() { end() }

    /// Ends the script: no further frames come.
    func end() {
        lock.withLock {
            isOver = true
            changed.broadcast()
        }
    }
}

extension Welcome {
    /// Reads the frame with which these bytes begin; nil if it is another, or not whole.
    init?(atStartOf bytes: UnsafeRawBufferPointer) {
        let limits = LinkLimits()
        guard case .frame(let length)? = try? FrameDecoder(limit: limits.frameBytes).next(in: bytes),
            case .welcome(let welcome)? = try? ControlMessage(
                decoding: UnsafeRawBufferPointer(rebasing: bytes[FrameDecoder.headBytes..<length]),
                limits: limits
            )
        else { return nil }
        self = welcome
    }
}
