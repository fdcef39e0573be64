import BridgeProtocol

/// Finds the frames in the bytes that pass one end of a stream in one direction; the bytes may come in any pieces.
struct PassingFrames {
    private var decoder = FrameDecoder(limit: 1 << 30)
    /// The beginning of a frame whose rest has not passed yet.
    private var rest: [UInt8] = []
    /// Whether bytes that are no valid frame have passed; the bytes after them are ignored.
    private var isBroken = false

    /// How many bytes, at least, a frame still lacks that has begun to pass; 0 between frames.
    var missing: Int {
        guard !rest.isEmpty, case .needsBytes(let total)? = try? rest.withUnsafeBytes({ try decoder.next(in: $0) })
        else { return 0 }
        return total - rest.count
    }

    /// Calls `act` with the body of each frame that these bytes complete; `act` throws if the body is invalid.
    mutating func pass(_ bytes: UnsafeRawBufferPointer, _ act: (UnsafeRawBufferPointer) throws -> Void) {
        guard !isBroken else { return }
        do {
            if rest.isEmpty {
                rest = Array(try takeFrames(bytes, act))
            } else {
                rest += bytes
                guard try isWhole else { return }
                rest = try rest.withUnsafeBytes { Array(try takeFrames($0, act)) }
            }
        } catch {
            (isBroken, rest) = (true, [])
        }
    }

    /// Does the same as ``pass(_:_:)`` with the first `count` bytes of these pieces.
    mutating func pass(
        _ pieces: [UnsafeRawBufferPointer],
        count: Int,
        _ act: (UnsafeRawBufferPointer) throws -> Void
    ) {
        for piece in pieces.first(count) { pass(piece, act) }
    }

    private var isWhole: Bool {
        get throws { try rest.withUnsafeBytes { if case .frame = try decoder.next(in: $0) { true } else { false } } }
    }

    /// - Returns: The bytes after the last whole frame.
    private func takeFrames(
        _ bytes: UnsafeRawBufferPointer,
        _ act: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> UnsafeRawBufferPointer {
        var left = bytes
        while case .frame(let length) = try decoder.next(in: left) {
            try act(UnsafeRawBufferPointer(rebasing: left[FrameDecoder.headBytes..<length]))
            left = UnsafeRawBufferPointer(rebasing: left[length...])
        }
        return left
    }
}

extension [UnsafeRawBufferPointer] {
    /// The pieces of the first `count` bytes.
    func first(_ count: Int) -> [UnsafeRawBufferPointer] {
        var left = count
        var some: [UnsafeRawBufferPointer] = []
        for piece in self where left > 0 {
            some.append(UnsafeRawBufferPointer(rebasing: piece.prefix(left)))
            left -= Swift.min(left, piece.count)
        }
        return some
    }
}
