import CBOR

/// An event whose frame lies in memory that its sender shares: `[16, sequence, offset, length]`.
///
/// In the stream it replaces the event's own frame, and it counts as that frame in the sequences and in the window.
package struct PlacedFrame: Sendable, Hashable {
    package let sequence: UntrustedNumber
    /// Where the frame begins, counted from the beginning of the memory.
    package let offset: UntrustedNumber
    /// How many bytes the frame has, including the four bytes of its length in front.
    package let length: UntrustedNumber

    static let elements = 4

    /// How many bytes a placed frame has at most: a length, an array's head and a kind, and three numbers.
    package static let maximumBytes = FrameDecoder.headBytes + 2 + 3 * 9

    package init(sequence: UInt64, offset: UInt64, length: UInt64) {
        self.sequence = UntrustedNumber(sequence)
        self.offset = UntrustedNumber(offset)
        self.length = UntrustedNumber(length)
    }

    /// Writes the whole placed frame to `start`, where there is room for ``maximumBytes``, and returns its length.
    package func encode(at start: UnsafeMutableRawPointer) -> Int {
        var count = FrameDecoder.headBytes
        for (top, argument): (UInt8, UInt64) in [
            (0x80, UInt64(Self.elements)), (0, FrameKind.placed.rawValue), (0, sequence.asWritten),
            (0, offset.asWritten), (0, length.asWritten),
        ] {
            count += CBORWriter.storeHead(top, argument, at: start + count)
        }
        start.storeBytes(of: UInt32(count - FrameDecoder.headBytes).bigEndian, as: UInt32.self)
        return count
    }

    /// Takes a frame's body apart; elements beyond the known ones are ignored.
    package init(decoding body: UnsafeRawBufferPointer) throws {
        var reader = CBORReader(body)
        guard let elements = try reader.readArrayHead(), elements >= Self.elements else {
            throw LinkViolation("a placed frame has \(Self.elements) elements")
        }
        let kind = try reader.readUnsigned()
        guard kind == FrameKind.placed.rawValue else { throw LinkViolation("frame kind \(kind) is not placed") }
        sequence = try reader.readNumber()
        offset = try reader.readNumber()
        length = try reader.readNumber()
        for _ in Self.elements..<elements { try reader.skipItem() }
        guard reader.isAtEnd else {
            throw LinkViolation("\(reader.bytesLeft) bytes follow what was placed in its frame")
        }
    }

    /// Where the frame lies in memory of `byteCount` bytes; `limit` is the largest body that is accepted.
    package func range(in byteCount: Int, limit: Int) throws(LinkViolation) -> Range<Int> {
        guard let length = length.within((FrameDecoder.headBytes + 1)...(FrameDecoder.headBytes + limit)) else {
            throw LinkViolation(
                "event \(sequence) was placed with \(length) bytes; \(FrameDecoder.headBytes + 1) to \(FrameDecoder.headBytes + limit) are possible"
            )
        }
        guard byteCount >= length, let offset = offset.within(0...(byteCount - length)) else {
            throw LinkViolation(
                "event \(sequence) was placed at byte \(offset) with \(length) bytes; the memory has \(byteCount)"
            )
        }
        return offset..<(offset + length)
    }

    /// Checks that the frame found in the memory is the frame that was placed, and returns its body.
    ///
    /// - Parameter frame: the receiver's own copy.
    package func check(_ frame: UnsafeRawBufferPointer, limits: LinkLimits) throws -> UnsafeRawBufferPointer {
        let declared = UInt64(UInt32(bigEndian: frame.loadUnaligned(as: UInt32.self)))
        guard length == declared + UInt64(FrameDecoder.headBytes) else {
            throw LinkViolation(
                "event \(sequence) was placed with \(length) bytes, but the frame there says that \(declared) follow its length"
            )
        }
        let body = UnsafeRawBufferPointer(rebasing: frame[FrameDecoder.headBytes...])
        let (head, _) = try EventFrame.decode(body, limits: limits)
        guard head.sequence == sequence else {
            throw LinkViolation("event \(head.sequence) lies where event \(sequence) was placed")
        }
        return body
    }
}
