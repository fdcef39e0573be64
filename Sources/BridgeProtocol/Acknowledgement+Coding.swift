package import CBOR

/// The frames of acknowledgements.
///
/// Nearly all control frames are acknowledgements, so the usual ones are coded without a ``ControlMessage``.
extension Acknowledgement {
    /// Appends the acknowledgement as a whole frame.
    ///
    /// - Parameter incarnation: the incarnation under which this side acknowledges.
    package func encode(incarnation: UInt64, into buffer: CBORBuffer) {
        buffer.appendFrame { encodeBody(incarnation: incarnation, $0) }
    }

    func encodeBody(incarnation: UInt64, _ writer: CBORWriter) {
        writer.arrayHead(unwanted > 0 ? 6 : 5)
        writer.unsigned(FrameKind.acknowledge.rawValue)
        writer.unsigned(incarnation)
        writer.unsigned(mark)
        writer.unsigned(after)
        writer.arrayHead(ranges.count * 2)
        for range in ranges {
            writer.unsigned(range.lowerBound)
            writer.unsigned(range.upperBound)
        }
        if unwanted > 0 { writer.unsigned(unwanted) }
    }

    /// Decodes an acknowledgement without ranges (nearly all have none); nil for any other frame, valid or not.
    package static func decodePlain(
        _ body: UnsafeRawBufferPointer
    ) -> (acknowledgement: Acknowledgement, incarnation: UInt64)? {
        guard body.count >= 2, body[0] == 0x85 || body[0] == 0x86, body[1] == UInt8(FrameKind.acknowledge.rawValue)
        else { return nil }
        var position = 2
        guard let incarnation = number(in: body, at: &position), let mark = number(in: body, at: &position),
            let after = number(in: body, at: &position), position < body.count, body[position] == 0x80
        else { return nil }
        position &+= 1
        var unwanted: UInt64 = 0
        if body[0] == 0x86 {
            guard let number = number(in: body, at: &position) else { return nil }
            unwanted = number
        }
        guard position == body.count else { return nil }
        return (Acknowledgement(mark: mark, after: after, unwanted: unwanted), incarnation)
    }

    /// Reads the number at `position`, and moves `position` behind it; nil if something else begins there, or if the
    /// body ends within the number.
    @inline(__always)
    private static func number(in body: UnsafeRawBufferPointer, at position: inout Int) -> UInt64? {
        guard position < body.count else { return nil }
        let additional = body[position] & 0x1F
        let bytes = additional < 24 ? 0 : 1 << (Int(additional) &- 24)
        guard body.count &- position > bytes else { return nil }
        return EventFrame.number(in: body, at: &position)
    }

    /// Decodes what follows the kind in an acknowledgement's frame.
    ///
    /// - Parameter rest: how many optional elements of the frame are unread; reading one lowers it.
    static func decodeRest(_ reader: inout CBORReader, _ rest: inout Int) throws -> ControlMessage {
        let incarnation = try reader.readUnsigned()
        var acknowledgement = Acknowledgement(mark: try reader.readUnsigned(), after: try reader.readUnsigned())
        guard let count = try reader.readArrayHead(), count % 2 == 0, count / 2 <= maximumRanges else {
            throw LinkViolation("an acknowledgement has at most \(maximumRanges) ranges of two numbers")
        }
        acknowledgement.ranges.reserveCapacity(count / 2)
        for _ in 0..<(count / 2) {
            let first = try reader.readNumber()
            let last = try reader.readNumber()
            guard first <= last else { throw LinkViolation("\(first) to \(last) is no range") }
            acknowledgement.ranges.append(first...last)
        }
        if rest > 0, reader.nextMajorType == .unsigned {
            acknowledgement.unwanted = try reader.readNumber()
            rest -= 1
        }
        return .acknowledge(acknowledgement, incarnation: incarnation)
    }
}
