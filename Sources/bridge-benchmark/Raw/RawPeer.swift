import BridgePlatform

/// The child's half of the raw works, over the socket that the child was started with.
enum RawPeer {
    static func run(_ arguments: ArraySlice<String>) -> Never {
        let socket = RawSocket(descriptor: 3)
        let words = Array(arguments)
        let count = words.count > 1 ? Int64(words[1]) ?? 0 : 0
        switch words.first {
        case "W1": answer(socket)
        case "W2" where words.last == "batched": sendBatches(socket, count)
        case "W2": sendSingly(socket, count)
        case "W3": sendBlobs(socket, count, bytes: words.last.flatMap { Int($0) } ?? 0)
        default: Report.fail("\"\(arguments.joined(separator: " "))\" is no raw work")
        }
        CurrentProcess.exitImmediately(0)
    }

    private static func answer(_ socket: RawSocket) {
        let frame = UnsafeMutableRawPointer.allocate(byteCount: RawFrame.bytes, alignment: 16)
        while socket.read(frame, RawFrame.bytes) {
            RawFrame.write(RawFrame.check(frame), to: frame)
            socket.write(frame, RawFrame.bytes)
        }
    }

    private static func sendSingly(_ socket: RawSocket, _ count: Int64) {
        let frame = UnsafeMutableRawPointer.allocate(byteCount: RawFrame.bytes, alignment: 16)
        for id in 0..<count {
            RawFrame.write(id, to: frame)
            socket.write(frame, RawFrame.bytes)
        }
    }

    private static func sendBatches(_ socket: RawSocket, _ count: Int64) {
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: RawWork.bufferBytes, alignment: 16)
        var filled = 0
        for id in 0..<count {
            RawFrame.write(id, to: buffer + filled)
            filled += RawFrame.bytes
            if filled > RawWork.bufferBytes - RawFrame.bytes {
                socket.write(buffer, filled)
                filled = 0
            }
        }
        socket.write(buffer, filled)
    }

    private static func sendBlobs(_ socket: RawSocket, _ count: Int64, bytes: Int) {
        let size = RawFrame.bytes + bytes
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        buffer.initializeMemory(as: UInt8.self, repeating: 0x5a, count: size)
        for id in 0..<count {
            RawFrame.write(id, to: buffer)
            buffer.storeBytes(of: id, toByteOffset: RawFrame.bytes, as: Int64.self)
            buffer.storeBytes(of: id, toByteOffset: size - 8, as: Int64.self)
            socket.write(buffer, size)
        }
    }
}
