import BridgePlatform
import BridgeProtocol
import CBOR

/// A client of the control socket that sends the frames of a script, over a real socket.
enum ScriptedClient {
    /// Returns when the host has ended the connection, or takes none.
    ///
    /// - Parameter look: called before each frame.
    static func run(_ script: inout Script, at path: String, look: () -> Void) {
        guard let socket = try? UnixSocket.connect(to: path) else { return }
        let bytes = CBORBuffer()
        var incarnation: UInt64 = 0
        // Most scripts begin with a correct hello, because without one the host would never read the other frames.
        if script.choice(16) != 15 {
            ControlMessage.hello(HostileFrames.hello("", &script)).encode(into: bytes)
            send(bytes.copied(), over: socket.rawValue)
            var answer: [UInt8] = []
            while receive(from: socket.rawValue, into: &answer) {
                guard let welcome = answer.withUnsafeBytes({ Welcome(atStartOf: $0) }) else { continue }
                incarnation = welcome.workerIncarnation
                break
            }
        }
        var isHeard = true
        while !script.isAtEnd, isHeard {
            look()
            bytes.removeAll()
            HostileFrames.writeFrame(into: bytes, from: incarnation, &script)
            if bytes.count > 0 { isHeard = send(bytes.copied(), over: socket.rawValue) }
        }
        UnixSocket.shutdownWrite(socket.rawValue)
        var rest: [UInt8] = []
        while receive(from: socket.rawValue, into: &rest) { rest = [] }
        look()
    }

    /// - Returns: False if no process reads any more.
    @discardableResult
    private static func send(_ bytes: [UInt8], over socket: CInt) -> Bool {
        bytes.withUnsafeBytes { UnixSocket.send(socket, $0) } == .transferred(bytes.count)
    }

    /// - Returns: False at the end.
    private static func receive(from socket: CInt, into bytes: inout [UInt8]) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 1) { buffer in
            guard case .transferred(let count) = UnixSocket.receive(socket, into: buffer, blocking: true) else {
                return false
            }
            bytes += buffer[..<count]
            return true
        }
    }
}
