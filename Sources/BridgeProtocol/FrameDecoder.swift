/// Why a stream of bytes is not a stream of frames.
package enum FrameError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The declared length exceeds the limit.
    case tooLarge(declared: Int, limit: Int)
    /// The frame has no body.
    case empty
    /// The stream ended inside a frame.
    case truncated(have: Int, need: Int)

    package var description: String {
        switch self {
        case .tooLarge(let declared, let limit):
            "a frame of \(declared) bytes was announced; the limit is \(limit) bytes"
        case .empty:
            "a frame without a body arrived"
        case .truncated(let have, let need):
            "the stream ended inside a frame: \(have) of \(need) bytes had arrived"
        }
    }
}

/// Finds the frames in a stream of bytes: a 32-bit big-endian length, then that many bytes.
///
/// The decoder's only state is the limit in force, so however the stream is split, the same frames come out.
package struct FrameDecoder: Sendable {
    /// How many bytes a frame's length takes.
    package static let headBytes = 4

    /// The largest body that is accepted now.
    package var limit: Int

    package init(limit: Int) {
        self.limit = limit
    }

    /// Whether the bytes so far begin with a whole frame.
    package enum Step: Equatable {
        /// A whole frame of this many bytes: four for the length, then the body.
        case frame(length: Int)
        /// The beginning of a frame; the frame has this many bytes, or more if its length has not arrived yet.
        case needsBytes(total: Int)
    }

    /// Checks whether `bytes` begin with a whole frame.
    @inlinable
    package func next(in bytes: UnsafeRawBufferPointer) throws(FrameError) -> Step {
        guard bytes.count >= 4 else { return .needsBytes(total: 4) }
        let declared = Int(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        guard declared <= limit else { throw .tooLarge(declared: declared, limit: limit) }
        guard declared > 0 else { throw .empty }
        let length = declared + 4
        return bytes.count >= length ? .frame(length: length) : .needsBytes(total: length)
    }

    /// The stream has ended; throws if `bytes` are left over.
    package func end(with bytes: UnsafeRawBufferPointer) throws(FrameError) {
        guard !bytes.isEmpty else { return }
        var need = Self.headBytes
        if case .needsBytes(let total) = try next(in: bytes) { need = total }
        throw .truncated(have: bytes.count, need: need)
    }
}
