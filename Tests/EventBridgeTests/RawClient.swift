import BridgePlatform
import BridgeProtocol
import CBOR
import TestSupport

/// A client that speaks the protocol by hand.
final class RawClient: Sendable {
    private let socket: SharedDescriptor

    init(to path: String) throws {
        socket = try SharedDescriptor(UnixSocket.connect(to: path))
        try setReceiveTimeout(socket.rawValue, milliseconds: 60_000)
    }

    static func hello(versions: ClosedRange<UInt64> = ProtocolVersion.supported) -> Hello {
        Hello(
            versions: versions,
            name: "raw",
            cookie: "",
            library: "raw",
            windowBytes: 1 << 20,
            windowEvents: 4_096,
            frameBytes: 16 << 20
        )
    }

    func send(_ message: ControlMessage) {
        let buffer = CBORBuffer()
        message.encode(into: buffer)
        send(Array(buffer.bytes))
    }

    func send(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { UnixSocket.send(socket.rawValue, $0) }
    }

    /// The next message that arrives whole.
    func receive() -> ControlMessage? {
        receiveFrame()?.withUnsafeBytes { try? ControlMessage(decoding: $0, limits: LinkLimits()) }
    }

    /// The next frame that arrives whole, without its length; nil at the end, or if nothing comes for a minute.
    func receiveFrame() -> [UInt8]? {
        guard let head = receive(bytes: 4) else { return nil }
        return receive(bytes: head.reduce(0) { $0 << 8 | Int($1) })
    }

    /// All that arrives before the end.
    func receiveRest() -> [UInt8] {
        var all: [UInt8] = []
        while let byte = receive(bytes: 1) { all += byte }
        return all
    }

    private func receive(bytes count: Int) -> [UInt8]? {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: count)
        while all.count < count {
            let missing = count - all.count
            let outcome = buffer.withUnsafeMutableBytes { bytes in
                let place = UnsafeMutableRawBufferPointer(rebasing: bytes[..<missing])
                return UnixSocket.receive(socket.rawValue, into: place, blocking: true)
            }
            guard case .transferred(let arrived) = outcome, arrived > 0 else { return nil }
            all += buffer[..<arrived]
        }
        return all
    }

    func close() {
        UnixSocket.shutdownBoth(socket.rawValue)
    }
}
