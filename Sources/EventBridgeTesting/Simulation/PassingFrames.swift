import BridgeProtocol

/// Finds the frames in the bytes that pass one end of a stream in one direction; the bytes may come in any pieces.
struct PassingFrames {
    private var decoder = FrameDecoder(limit: 1 << 30)
    /// The beginning of a frame whose rest has not passed yet.
    private var rest: [UInt8] = []
    /// Whether bytes that are no frame have passed; the bytes after them are ignored.
    private var isBroken = false

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
