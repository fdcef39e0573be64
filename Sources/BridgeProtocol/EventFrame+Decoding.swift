import CBOR
package import DomainEvents

/// Decodes event frames, and trusts nothing in them.
extension EventFrame {
    /// Decodes a frame's body.
    ///
    /// - Returns: The head, and the offset in `body` at which the payload begins; the payload goes on to the end.
    package static func decode(
        _ body: UnsafeRawBufferPointer,
        limits: LinkLimits
    ) throws -> (head: EventHead, payloadOffset: Int) {
        if let (event, name) = decodePlain(body, at: 0, from: nil) {
            var head = EventHead(
                sequence: event.sequence.asWritten,
                id: .sender(number: event.number),
                nanosecondsSinceEpoch: event.nanosecondsSinceEpoch,
                name: .number(name)
            )
            head.cause = event.causes.cause?.wireID
            head.root = event.causes.root?.wireID
            if let settledBelow = event.settledBelow { head.settledBelow = UntrustedNumber(settledBelow) }
            return (head, event.payloadOffset - FrameDecoder.headBytes)
        }
        var reader = CBORReader(body)
        let count = try reader.readArrayHead()
        guard count == elements else {
            throw LinkViolation(
                "an event frame has \(elements) elements; this one has \(count.map(String.init) ?? "no") count"
            )
        }
        let kind = try reader.readUnsigned()
        guard kind == FrameKind.event.rawValue else { throw LinkViolation("frame kind \(kind) is not an event") }
        let sequence = try reader.readUnsigned()
        let id: WireID
        if try reader.readNull() {
            id = .sender(number: sequence)
        } else {
            id = try decodeID(&reader, limits: limits)
        }
        let time = try reader.readUnsigned()
        let name: WireName
        if reader.nextMajorType == .text {
            let text = try reader.readText()
            try checkEventName(text, limits: limits)
            name = .text(text)
        } else {
            name = .number(try reader.readUnsigned())
        }
        var head = EventHead(sequence: sequence, id: id, nanosecondsSinceEpoch: time, name: name)
        if try !reader.readNull() { try decodeOptions(&reader, into: &head, limits: limits) }
        guard reader.bytesLeft > 0 else { throw LinkViolation("event \(sequence) has no payload") }
        return (head, reader.position)
    }

    /// Decodes a run: the whole frames at the beginning of `bytes`, up to the first whose head is no ``PlainHead``, or
    /// whose source or name differs from that of the frames before it.
    ///
    /// A run also ends before a frame whose body, its source not counted, has fewer than 40 bytes. It ends after 64
    /// KiB, and when `events` is full.
    ///
    /// - Parameters:
    ///   - decoder: finds the frames.
    ///   - others: the known sources of third processes' events; an event of an unknown source ends the run.
    ///   - events: receives the events.
    /// - Returns: How many events there are, their name, and their source if it is a third process.
    package static func decodeRun(
        _ bytes: UnsafeRawBufferPointer,
        with decoder: FrameDecoder,
        others: SpelledSources,
        into events: UnsafeMutableBufferPointer<ArrivedEvent>
    ) -> (count: Int, name: UInt64, source: EventSource?) {
        var (count, start, runName) = (0, 0, UInt64(0))
        var source: SpelledSource?
        while count < events.count, start < longestRun {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
            // If the next bytes are no frame, the link finds that out after it has handled the events before them.
            guard case .frame(let length)? = try? decoder.next(in: rest) else { break }
            let body = UnsafeRawBufferPointer(rebasing: rest[FrameDecoder.headBytes..<length])
            if count == 0, let position = positionOfThirdSource(in: body) {
                source = others.source(spelledIn: body, at: position)
            }
            guard let (event, name) = decodePlain(body, at: start, from: source), count == 0 || name == runName else {
                break
            }
            events.initializeElement(at: count, to: event)
            runName = name
            count &+= 1
            start &+= length
        }
        return (count, runName, count > 0 ? source?.source : nil)
    }

    /// Where the source of a third process's event begins in the body of its frame; nil for any other frame.
    private static func positionOfThirdSource(in body: UnsafeRawBufferPointer) -> Int? {
        // The kind and the sequence take at most ten bytes behind the array's head.
        guard body.count >= 12, body[0] == 0x80 | UInt8(elements), body[1] == UInt8(FrameKind.event.rawValue) else {
            return nil
        }
        var position = 2
        guard number(in: body, at: &position) != nil, body[position] == 0x83 else { return nil }
        return position
    }

    /// No frame of a run begins after this many bytes: much less than a window, so that the sender learns in time what
    /// is handled.
    private static let longestRun = 64 << 10

    /// Decodes a frame that begins with a ``PlainHead``; nil for a short frame, or one with another head, valid or not.
    ///
    /// - Parameters:
    ///   - start: where the frame begins in its run.
    ///   - source: the third process that must be the event's source; nil if the sending side must be the source.
    @inline(__always)
    private static func decodePlain(
        _ body: UnsafeRawBufferPointer,
        at start: Int,
        from source: SpelledSource?
    ) -> (event: ArrivedEvent, name: UInt64)? {
        // 40 bytes hold four numbers of at most nine bytes each, the bytes around them, and a byte of payload.
        guard body.count &- (source?.bytes.count ?? 0) >= 40, body[0] == 0x80 | UInt8(elements),
            body[1] == UInt8(FrameKind.event.rawValue)
        else { return nil }
        var position = 2
        guard let sequence = number(in: body, at: &position) else { return nil }
        var id = sequence
        if let source {
            guard source.isSpelled(in: body, at: position) else { return nil }
            position &+= source.bytes.count
            guard let number = number(in: body, at: &position) else { return nil }
            id = number
        } else if body[position] == 0xF6 {
            position &+= 1
        } else {
            guard let number = number(in: body, at: &position) else { return nil }
            id = number
        }
        guard let time = number(in: body, at: &position), let name = number(in: body, at: &position) else { return nil }
        var causes = NearCauses()
        var settledBelow: UInt64?
        if body[position] == 0xF6 {
            position &+= 1
        } else {
            guard let options = nearOptions(in: body, at: &position) else { return nil }
            (causes, settledBelow) = options
        }
        let event = ArrivedEvent(
            sequence: sequence,
            number: id,
            nanosecondsSinceEpoch: time,
            causes: causes,
            settledBelow: settledBelow,
            start: start,
            frameLength: FrameDecoder.headBytes &+ body.count,
            payloadOffset: FrameDecoder.headBytes &+ position
        )
        return (event, name)
    }

    /// Reads the options that a ``PlainHead`` can have, and moves `position` behind them; nil if something else begins
    /// there, or if an option begins where fewer than 11 bytes are left.
    private static func nearOptions(
        in body: UnsafeRawBufferPointer,
        at position: inout Int
    ) -> (causes: NearCauses, settledBelow: UInt64?)? {
        let count = body[position] &- 0xA0
        guard 1...3 ~= count else { return nil }
        position &+= 1
        var causes = NearCauses()
        var settledBelow: UInt64?
        var previous: UInt8 = 0
        for _ in 0..<count {
            // An option's key, its number of at most nine bytes, and a byte of the next option or of payload.
            guard body.count &- position >= 11 else { return nil }
            let key = body[position]
            guard key > previous else { return nil }
            previous = key
            position &+= 1
            let isOfReceiver = body[position] & 0xE0 == 0x20
            guard let number = number(in: body, at: &position, ofType: isOfReceiver ? 0x20 : 0) else { return nil }
            switch (UInt64(key), isOfReceiver) {
            case (Option.cause, _): causes.cause = isOfReceiver ? .receiver(number) : .sender(number)
            case (Option.root, _): causes.root = isOfReceiver ? .receiver(number) : .sender(number)
            case (Option.settledBelow, false): settledBelow = number
            default: return nil
            }
        }
        return (causes, settledBelow)
    }

    /// Reads the number at `position`, and moves `position` behind it; nil if something else begins there.
    ///
    /// The caller has checked that nine bytes are left, or all bytes of the number.
    ///
    /// - Parameter type: the upper three bits of the first byte.
    @inline(__always)
    static func number(
        in body: UnsafeRawBufferPointer,
        at position: inout Int,
        ofType type: UInt8 = 0
    ) -> UInt64? {
        let initial = body[position] &- type
        position &+= 1
        switch initial {
        case 0..<24: return UInt64(initial)
        case 24:
            position &+= 1
            return UInt64(body[position &- 1])
        case 25:
            position &+= 2
            return UInt64(UInt16(bigEndian: body.loadUnaligned(fromByteOffset: position &- 2, as: UInt16.self)))
        case 26:
            position &+= 4
            return UInt64(UInt32(bigEndian: body.loadUnaligned(fromByteOffset: position &- 4, as: UInt32.self)))
        case 27:
            position &+= 8
            return UInt64(bigEndian: body.loadUnaligned(fromByteOffset: position &- 8, as: UInt64.self))
        default: return nil
        }
    }

    private static func decodeOptions(
        _ reader: inout CBORReader,
        into head: inout EventHead,
        limits: LinkLimits
    ) throws {
        guard let count = try reader.readMapHead() else {
            throw LinkViolation("the options of an event must be a map with a count")
        }
        var previous: UInt64 = 0
        for _ in 0..<count {
            let key = try reader.readUnsigned()
            guard key > previous else { throw LinkViolation("the options of an event are not in ascending order") }
            previous = key
            switch key {
            case Option.attempt:
                head.attempt = try reader.readNumber()
                guard head.attempt > 0 else { throw LinkViolation("attempts are counted from 1") }
            case Option.cause: head.cause = try decodeID(&reader, limits: limits)
            case Option.root: head.root = try decodeID(&reader, limits: limits)
            case Option.traceparent: head.traceparent = try reader.readText()
            case Option.settledBelow: head.settledBelow = try reader.readNumber()
            case Option.flags:
                let flags = try reader.readUnsigned()
                (head.wantsReceipt, head.isReplay) = (flags & Flag.wantsReceipt != 0, flags & Flag.isReplay != 0)
            case Option.bookmark: head.bookmark = try decodeBookmark(&reader)
            default: try reader.skipItem()
            }
        }
    }

    /// Reads a bookmark, in an event or in a welcome.
    static func decodeBookmark(_ reader: inout CBORReader) throws -> [UInt8] {
        let bytes = try reader.readBytes()
        guard bytes.count <= EventBookmark.longest else {
            throw LinkViolation("a bookmark has \(bytes.count) bytes; \(EventBookmark.longest) are the most")
        }
        return Array(bytes)
    }

    static func decodeID(_ reader: inout CBORReader, limits: LinkLimits) throws -> WireID {
        switch reader.nextMajorType {
        case .negative:
            let head = try reader.readHead()
            return .receiver(number: head.argument)
        case .array:
            let count = try reader.readArrayHead()
            guard count == 3 else { throw LinkViolation("an identifier has three parts") }
            let origin = try reader.readText()
            try checkName(origin, limits: limits)
            return .other(
                origin: origin,
                incarnation: try reader.readUnsigned(),
                number: try reader.readUnsigned()
            )
        default:
            return .sender(number: try reader.readUnsigned())
        }
    }

    /// Checks the name of an event that a peer publishes, or of one that it says it will publish.
    static func checkEventName(_ name: String, limits: LinkLimits) throws(LinkViolation) {
        try checkName(name, limits: limits)
        guard name != EventName.everything.text else {
            throw LinkViolation("no event has the name \"\(name)\", by which a subscriber asks for all events")
        }
    }

    static func checkName(_ name: String, limits: LinkLimits) throws(LinkViolation) {
        let length = name.utf8.count
        guard length > 0, length <= limits.eventNameBytes else {
            throw LinkViolation("a name has 1 to \(limits.eventNameBytes) bytes; this one has \(length)")
        }
    }
}
