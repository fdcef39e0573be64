package import CBOR

/// A ``Gap`` as a frame spells it: `[12, sequence, name, count, reason, [first, last, ...]]`.
///
/// A gap has a link sequence and is acknowledged like an event.
package struct GapFrame: Sendable, Hashable {
    package struct Range: Sendable, Hashable {
        package let first: WireID
        package let last: UntrustedNumber

        package init(first: WireID, last: UInt64) {
            self.first = first
            self.last = UntrustedNumber(last)
        }
    }

    package let sequence: UntrustedNumber
    package let name: WireName
    package let count: UntrustedNumber
    package let reason: UInt64
    package let ranges: [Range]

    static let elements = 6

    package init(sequence: UInt64, name: WireName, count: UInt64, reason: UInt64, ranges: [Range]) {
        self.sequence = UntrustedNumber(sequence)
        self.name = name
        self.count = UntrustedNumber(count)
        self.reason = reason
        self.ranges = ranges
    }

    package func encode(into buffer: CBORBuffer) {
        buffer.appendFrame { writer in
            writer.arrayHead(Self.elements)
            writer.unsigned(FrameKind.gap.rawValue)
            writer.unsigned(sequence)
            switch name {
            case .number(let number): writer.unsigned(number)
            case .text(let text): writer.text(text)
            }
            writer.unsigned(count)
            writer.unsigned(reason)
            writer.arrayHead(ranges.count * 2)
            for range in ranges {
                EventFrame.encode(range.first, writer)
                writer.unsigned(range.last)
            }
        }
    }

    /// Takes a frame's body apart; elements beyond the known ones are ignored.
    package init(decoding body: UnsafeRawBufferPointer, limits: LinkLimits) throws {
        var reader = CBORReader(body)
        guard let elements = try reader.readArrayHead(), elements >= Self.elements else {
            throw LinkViolation("a gap frame has \(Self.elements) elements")
        }
        let kind = try reader.readUnsigned()
        guard kind == FrameKind.gap.rawValue else { throw LinkViolation("frame kind \(kind) is not a gap") }
        sequence = try reader.readNumber()
        if reader.nextMajorType == .text {
            let text = try reader.readText()
            try EventFrame.checkEventName(text, limits: limits)
            name = .text(text)
        } else {
            name = .number(try reader.readUnsigned())
        }
        count = try reader.readNumber()
        guard count > 0 else { throw LinkViolation("gap \(sequence) stands for no event") }
        reason = try reader.readUnsigned()
        guard let parts = try reader.readArrayHead(), parts % 2 == 0, parts / 2 <= Gap.maximumRanges else {
            throw LinkViolation("a gap has at most \(Gap.maximumRanges) ranges of an identifier and a number")
        }
        var ranges: [Range] = []
        for _ in 0..<(parts / 2) {
            let first = try EventFrame.decodeID(&reader, limits: limits)
            ranges.append(Range(first: first, last: try reader.readUnsigned()))
        }
        self.ranges = ranges
        for _ in Self.elements..<elements { try reader.skipItem() }
        guard reader.isAtEnd else { throw LinkViolation("\(reader.bytesLeft) bytes follow the gap in its frame") }
    }
}
