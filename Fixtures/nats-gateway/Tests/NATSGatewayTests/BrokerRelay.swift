import Foundation
import LocalBroker

/// Stands between gateways and a broker: passes bytes on as badly as a network may, or plays a hostile broker.
final class BrokerRelay: Sendable {
    enum Habit: Sendable {
        /// Passes on at most `piece` bytes at a time, and cuts the connection after `cutAfter` bytes from either side.
        case passing(piece: Int, cutAfter: Int?)
        /// Says the first bytes at once and the others when the client has pinged; then hangs up.
        case hostile(first: [UInt8], second: [UInt8])
        /// Passes bytes on until the client has sent `before`, then cuts the connection before the broker gets them.
        case cutting(before: [UInt8])
        /// Passes on what the client says, and, for each piece that the broker sends, what `answers` makes of it.
        case changing(answers: @Sendable ([UInt8]) -> [UInt8])
        /// Says nothing until the client hangs up.
        case silent
    }

    struct NotStarted: Error {}

    let port: Int
    /// How many cuts `cutAfter` has caused.
    let cuts = Changing(0)
    private let listener: Int32
    private let broker: Int

    var url: String { "nats://127.0.0.1:\(port)" }

    /// - Parameter habit: returns how the relay treats a connection; the connections are numbered from 0.
    init(to broker: Broker, habit: @escaping @Sendable (Int) -> Habit) throws {
        port = try Broker.freePort()
        self.broker = broker.port
        listener = Self.socket()
        var address = Self.address(port)
        let isBound = withUnsafeBytes(of: &address) { bytes in
            bind(listener, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
        }
        guard isBound == 0, listen(listener, 16) == 0 else { throw NotStarted() }
        Thread.detachNewThread { [listener, cuts, broker = self.broker] in
            var number = 0
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                let habit = habit(number)
                number += 1
                Thread.detachNewThread { Self.serve(client, broker, habit, cuts) }
            }
        }
    }

    deinit { Self.hangUp(listener) }

    private static func serve(_ client: Int32, _ broker: Int, _ habit: Habit, _ cuts: Changing<Int>) {
        switch habit {
        case .hostile(let first, let second):
            send(first, to: client)
            var said: [UInt8] = []
            while !second.isEmpty, let bytes = receive(from: client, most: 4_096) {
                said += bytes
                guard !said.contains(Array("PING\r\n".utf8)) else { break }
            }
            send(second, to: client)
            hangUp(client)
            close(client)
        case .silent:
            while receive(from: client, most: 4_096) != nil {}
            close(client)
        case .cutting(let end): pass(client, broker, cuts, cutBefore: end)
        case .changing(let change): pass(client, broker, cuts, changed: change)
        case .passing(let piece, let limit): pass(client, broker, cuts, piece: piece, cutAfter: limit)
        }
    }

    private static func pass(
        _ client: Int32,
        _ broker: Int,
        _ cuts: Changing<Int>,
        piece: Int = 1 << 16,
        cutAfter limit: Int? = nil,
        cutBefore end: [UInt8]? = nil,
        changed change: @escaping @Sendable ([UInt8]) -> [UInt8] = { $0 }
    ) {
        let server = socket()
        var address = address(broker)
        let isConnected = withUnsafeBytes(of: &address) { bytes in
            connect(server, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
        }
        if isConnected == 0 {
            let pumps = DispatchGroup()
            for (from, to) in [(client, server), (server, client)] {
                pumps.enter()
                Thread.detachNewThread {
                    var rest = limit ?? .max
                    while rest > 0, let bytes = receive(from: from, most: min(piece, rest)) {
                        if let end, from == client, bytes.contains(end) { break }
                        guard send(from == server ? change(bytes) : bytes, to: to) else { break }
                        rest -= bytes.count
                    }
                    if rest == 0 { cuts.change { $0 += 1 } }
                    hangUp(from)
                    hangUp(to)
                    pumps.leave()
                }
            }
            pumps.wait()
        }
        close(server)
        close(client)
    }

    // MARK: - Sockets

    private static func socket() -> Int32 {
        let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var on: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        return socket
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = in_port_t(port).bigEndian
        return address
    }

    /// - Returns: Nil at the connection's end.
    private static func receive(from socket: Int32, most count: Int) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: min(count, 1 << 16)) { buffer, initialized in
            initialized = max(0, recv(socket, buffer.baseAddress, buffer.count, 0))
        }
        return bytes.isEmpty ? nil : bytes
    }

    @discardableResult
    private static func send(_ bytes: [UInt8], to socket: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                Foundation.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest.removeFirst(count)
        }
        return true
    }

    private static func hangUp(_ socket: Int32) { shutdown(socket, Int32(SHUT_RDWR)) }
}

extension [UInt8] {
    fileprivate func contains(_ bytes: [UInt8]) -> Bool {
        count >= bytes.count && (0...count - bytes.count).contains { self[$0...].starts(with: bytes) }
    }
}
