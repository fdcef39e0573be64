import BridgePlatform
import BridgeProtocol
import CBOR

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The link to the host, without the runtime that keeps to the protocol: the caller may send anything.
struct RawLink {
    private let descriptor: CInt
    private let name: String
    private let cookie: String
    private var received: [UInt8] = []

    /// The link that the host has given this process; nil if no host has started this process.
    init?() {
        guard let number = CurrentProcess.environment("EVENT_BRIDGE_FD").flatMap({ CInt($0) }),
            let name = CurrentProcess.environment("EVENT_BRIDGE_NAME"),
            let cookie = CurrentProcess.environment("EVENT_BRIDGE_COOKIE")
        else { return nil }
        descriptor = number
        self.name = name
        self.cookie = cookie
    }

    // MARK: - Sending

    /// Sends any bytes; ends the process if the host is gone.
    func send(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            switch UnixSocket.send(descriptor, rest) {
            case .transferred(let count): rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            case .wouldBlock: wait(for: CInt(POLLOUT), milliseconds: -1)
            case .endOfStream, .descriptorsPassed, .failed: exit(0)
            }
        }
    }

    func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { send($0) }
    }

    func send(_ message: ControlMessage) {
        let buffer = CBORBuffer()
        message.encode(into: buffer)
        send(buffer.bytes)
    }

    func sendEvent(_ head: EventHead, payload: [UInt8]) {
        send(Self.event(head, payload: payload))
    }

    /// A whole event frame.
    static func event(_ head: EventHead, payload: [UInt8]) -> [UInt8] {
        let buffer = CBORBuffer()
        EventFrame.encodeHead(head, payloadBytes: payload.count, into: buffer)
        return Array(buffer.bytes) + payload
    }

    // MARK: - Receiving

    /// The next frame's body; nil at the end of the link, or after this many milliseconds without a whole frame.
    mutating func receive(milliseconds: CInt = -1) -> [UInt8]? {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let body = takeFrame() { return body }
            guard wait(for: CInt(POLLIN), milliseconds: milliseconds) else { return nil }
            let outcome = chunk.withUnsafeMutableBytes { UnixSocket.receive(descriptor, into: $0, blocking: true) }
            guard case .transferred(let count) = outcome else {
                hasEnded = true
                return nil
            }
            received += chunk[..<count]
        }
    }

    /// Whether the host has closed its end.
    private(set) var hasEnded = false

    private mutating func takeFrame() -> [UInt8]? {
        let decoder = FrameDecoder(limit: LinkLimits().frameBytes)
        let step = received.withUnsafeBytes { try? decoder.next(in: $0) }
        guard case .frame(let length) = step else { return nil }
        defer { received.removeFirst(length) }
        return Array(received[FrameDecoder.headBytes..<length])
    }

    /// Returns false if the time is over.
    @discardableResult
    private func wait(for events: CInt, milliseconds: CInt) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
        return poll(&entry, 1, milliseconds) != 0
    }

    // MARK: - Handshake

    func sendHello(versions: ClosedRange<UInt64> = ProtocolVersion.supported) {
        let limits = LinkLimits()
        send(
            .hello(
                Hello(
                    versions: versions,
                    name: name,
                    cookie: cookie,
                    library: "faulty-worker",
                    windowBytes: UInt64(limits.windowBytes),
                    windowEvents: UInt64(limits.windowEvents),
                    frameBytes: UInt64(limits.frameBytes)
                )
            )
        )
    }

    /// Becomes a worker that is ready and wants `WorkRequested`.
    mutating func shakeHands() -> Welcome {
        sendHello()
        while let body = receive() {
            let message = body.withUnsafeBytes { try? ControlMessage(decoding: $0, limits: LinkLimits()) }
            guard case .welcome(let welcome) = message else { continue }
            send(.interest(Interest(wanted: [.init(number: 1, name: "WorkRequested")])))
            send(.ready)
            return welcome
        }
        exit(0)
    }

    /// Reads until the host has closed its end, then ends the process.
    mutating func readToTheEnd(status: CInt) -> Never {
        while receive() != nil {}
        exit(status)
    }
}
