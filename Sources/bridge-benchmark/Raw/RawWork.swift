import BridgePlatform

/// The works over a plain pair of blocking sockets, to show what the machine allows.
enum RawWork {
    static let argument = "raw-peer"
    private static let peer = "raw-socket"
    static let bufferBytes = 1 << 16

    /// W1: ping-pong of small events, one at a time.
    static func roundTrips(_ count: Int64) throws {
        let warmUp: Int64 = 2_000
        let trips = Trips(count: Int(count), warmUp: warmUp)
        try with(["W1"]) { socket in
            let frame = UnsafeMutableRawPointer.allocate(byteCount: RawFrame.bytes, alignment: 16)
            defer { frame.deallocate() }
            var id: Int64 = 0
            var isLast = false
            while !isLast {
                trips.begin(MonotonicClock.now())
                RawFrame.write(id, to: frame)
                socket.write(frame, RawFrame.bytes)
                guard socket.read(frame, RawFrame.bytes) else { Report.fail("the raw socket has ended") }
                let reply = RawFrame.check(frame)
                isLast = trips.returned(reply, at: MonotonicClock.now())
                id += 1
            }
        }
        Report.roundTrips("W1", peer: peer, trips.nanoseconds, total: trips.total)
    }

    /// W2: one way, with one event in each `write`, or as many as fit in 64 KiB.
    static func flood(_ count: Int64, isBatched: Bool) throws {
        let flood = Flood(count: count)
        try with(["W2", "\(count)", isBatched ? "batched" : "single"]) { socket in
            let buffer = UnsafeMutableRawPointer.allocate(byteCount: bufferBytes, alignment: 16)
            defer { buffer.deallocate() }
            var filled = 0
            var isLast = false
            while !isLast {
                let more = socket.readSome(buffer + filled, bufferBytes - filled)
                if more == 0 { Report.fail("the raw socket has ended") }
                filled += more
                var taken = 0
                while filled - taken >= RawFrame.bytes {
                    isLast = flood.arrived(RawFrame.check(buffer + taken))
                    taken += RawFrame.bytes
                }
                filled -= taken
                if filled > 0 { buffer.copyMemory(from: buffer + taken, byteCount: filled) }
            }
        }
        Report.flood("W2", peer: isBatched ? peer + "-64KiB" : peer, count, nanoseconds: flood.nanoseconds)
    }

    /// W3: large payloads one way.
    static func blobs(_ bytes: Int, count: Int64) throws {
        let flood = Flood(count: count)
        try with(["W3", "\(count)", "\(bytes)"]) { socket in
            let size = RawFrame.bytes + bytes
            let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            defer { buffer.deallocate() }
            var isLast = false
            while !isLast {
                guard socket.read(buffer, size) else { Report.fail("the raw socket has ended") }
                let id = RawFrame.check(buffer)
                let isRight =
                    buffer.loadUnaligned(fromByteOffset: RawFrame.bytes, as: Int64.self) == id
                    && buffer.loadUnaligned(fromByteOffset: size - 8, as: Int64.self) == id
                if !isRight { Report.fail("raw blob \(id) is not what was sent") }
                isLast = flood.arrived(id)
            }
        }
        Report.blobs(peer, bytes, count, nanoseconds: flood.nanoseconds)
    }

    /// Runs one half of a work, while a child runs the other half.
    private static func with(_ arguments: [String], _ body: (RawSocket) -> Void) throws {
        let sockets = try UnixSocket.pair()
        let child = try OwnProgram([argument] + arguments, socket: sockets.second.rawValue)
        sockets.second.close()
        body(RawSocket(descriptor: sockets.first.rawValue))
        sockets.first.close()
        guard child.waitForExit() == .exited(code: 0) else { Report.fail("the other end of the raw socket has failed") }
    }
}
