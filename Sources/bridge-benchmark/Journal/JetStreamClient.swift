import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A connection to a nats-server; it speaks only the part of the text protocol that stores and confirms events.
///
/// Only one thread at a time may use it.
final class JetStreamClient {
    private static let stream = "benchmark"
    private static let inbox = "_INBOX.benchmark."

    private let descriptor: FileDescriptor
    private let socket: RawSocket
    private var output: [UInt8] = []
    private var input: [UInt8] = []
    private var taken = 0
    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: RawWork.bufferBytes, alignment: 16)

    /// Connects to the server, and makes a stream that the server keeps in files.
    init(port: String) throws {
        descriptor = try Self.connect(port)
        socket = RawSocket(descriptor: descriptor.rawValue)
        append(#"CONNECT {"verbose":false,"pedantic":false,"lang":"swift","version":"0","protocol":0}"# + "\r\n")
        append("SUB \(Self.inbox)* 1\r\n")
        let stream = #"{"name":"\#(Self.stream)","subjects":["\#(Self.stream)"],"storage":"file","num_replicas":1}"#
        append("$JS.API.STREAM.CREATE.\(Self.stream)", caller: 0, Array(stream.utf8))
        let answer = try nextMessage().text
        guard !answer.contains(#""error""#) else { throw JetStreamError("the stream is refused: \(answer)") }
    }

    deinit { buffer.deallocate() }

    /// Stores events for several callers, each of which waits for its event's confirmation before it sends the next.
    ///
    /// All callers share this connection. Events that they send while confirmations are read leave in one `write`.
    /// - Returns: How long each call took, in nanoseconds.
    func store(_ payload: [UInt8], count: Int, callers: Int) throws -> [UInt64] {
        var times: [UInt64] = []
        times.reserveCapacity(count)
        var begun = Array(repeating: UInt64(0), count: callers)
        var sent = 0
        func send(_ caller: Int) {
            guard sent < count else { return }
            sent += 1
            begun[caller] = MonotonicClock.now()
            append(Self.stream, caller: caller, payload)
        }
        for caller in 0..<callers { send(caller) }
        while times.count < count {
            let answer = try nextMessage()
            guard answer.text.contains(#""seq":"#), begun.indices.contains(answer.caller) else {
                throw JetStreamError("an event is not stored: \(answer.text)")
            }
            times.append(MonotonicClock.now() - begun[answer.caller])
            send(answer.caller)
        }
        return times
    }

    // MARK: - The protocol

    private func append(_ subject: String, caller: Int, _ payload: [UInt8]) {
        append("PUB \(subject) \(Self.inbox)\(caller) \(payload.count)\r\n")
        output += payload
        append("\r\n")
    }

    private func append(_ text: String) {
        output += text.utf8
    }

    /// The next message to an inbox, and the caller that the inbox belongs to.
    private func nextMessage() throws -> (caller: Int, text: String) {
        while true {
            let words = try nextLine().split(separator: " ")
            switch words.first {
            case "MSG":
                guard let count = words.last.flatMap({ Int($0) }), (0...1 << 20).contains(count),
                    let caller = words[1].split(separator: ".").last.flatMap({ Int($0) })
                else { throw JetStreamError("found \(words.joined(separator: " ")), expected a message to a caller") }
                while input.count - taken < count + 2 { try receive() }
                let text = String(decoding: input[taken..<taken + count], as: UTF8.self)
                taken += count + 2
                return (caller, text)
            case "PING": append("PONG\r\n")
            case "INFO": continue
            default: throw JetStreamError("nats-server says: \(words.joined(separator: " "))")
            }
        }
    }

    private func nextLine() throws -> String {
        var searched = taken
        while true {
            if let end = input[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                // A line ends with a carriage return and a line feed.
                let line = String(decoding: input[taken..<max(taken, end - 1)], as: UTF8.self)
                taken = end + 1
                return line
            }
            searched = input.count - taken
            try receive()
        }
    }

    /// Sends the output that waits, removes the input that was taken, and receives at least one byte.
    private func receive() throws {
        if !output.isEmpty {
            output.withUnsafeMutableBytes { bytes in
                if let start = bytes.baseAddress { socket.write(start, bytes.count) }
            }
            output.removeAll(keepingCapacity: true)
        }
        input.removeFirst(taken)
        taken = 0
        let count = socket.readSome(buffer, RawWork.bufferBytes)
        guard count > 0 else { throw JetStreamError("nats-server has closed the connection") }
        input += UnsafeRawBufferPointer(start: buffer, count: count)
    }

    private static func connect(_ port: String) throws -> FileDescriptor {
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo("127.0.0.1", port, nil, &found) == 0 else {
            throw JetStreamError("there is no port \(port)")
        }
        defer { freeaddrinfo(found) }
        var next = found
        while let address = next?.pointee, address.ai_protocol != CInt(IPPROTO_TCP) { next = address.ai_next }
        guard let address = next?.pointee else { throw JetStreamError("port \(port) has no TCP address") }
        let descriptor = FileDescriptor(
            owning: try SystemError.check("making a socket") {
                systemSocket(address.ai_family, address.ai_socktype, address.ai_protocol)
            }
        )
        try FileDescriptor.setCloseOnExec(descriptor.rawValue)
        let number = descriptor.rawValue
        try SystemError.check("connecting to port \(port)") {
            systemConnect(number, address.ai_addr, address.ai_addrlen)
        }
        var one: CInt = 1
        try SystemError.check("having small writes leave at once") {
            setsockopt(number, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
        }
        return descriptor
    }
}

// Inside the type, members of the same names hide the system calls.
private func systemSocket(_ family: CInt, _ type: CInt, _ number: CInt) -> CInt { socket(family, type, number) }

private func systemConnect(_ number: CInt, _ address: UnsafePointer<sockaddr>?, _ size: socklen_t) -> CInt {
    connect(number, address, size)
}
