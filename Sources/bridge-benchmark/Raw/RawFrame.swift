/// The small event as a C programmer would send it, in 30 bytes: length, number, length of the title, title.
enum RawFrame {
    static let bytes = 4 + body
    private static let body = 26
    private static let titleLength: UInt16 = 16
    private static let titleStart = 14

    /// The sixteen bytes of each title.
    private static let titles: [SIMD2<UInt64>] = (Int64(0)..<16).map { id in
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { bytes in
            bytes.copyBytes(from: Title.of(id).utf8)
            return bytes.load(as: SIMD2<UInt64>.self)
        }
    }

    @inline(__always)
    static func write(_ id: Int64, to frame: UnsafeMutableRawPointer) {
        frame.storeBytes(of: UInt32(body), as: UInt32.self)
        frame.storeBytes(of: id, toByteOffset: 4, as: Int64.self)
        frame.storeBytes(of: titleLength, toByteOffset: 12, as: UInt16.self)
        frame.storeBytes(of: titles[Int(id & 15)], toByteOffset: titleStart, as: SIMD2<UInt64>.self)
    }

    /// Checks all parts of a frame, and returns its number.
    @inline(__always)
    static func check(_ frame: UnsafeMutableRawPointer) -> Int64 {
        let id = frame.loadUnaligned(fromByteOffset: 4, as: Int64.self)
        let isRight =
            frame.loadUnaligned(as: UInt32.self) == UInt32(body)
            && frame.loadUnaligned(fromByteOffset: 12, as: UInt16.self) == titleLength
            && frame.loadUnaligned(fromByteOffset: titleStart, as: SIMD2<UInt64>.self) == titles[Int(id & 15)]
        if !isRight { Report.fail("raw event \(id) is not what was sent") }
        return id
    }
}
