package import CBOR
import DomainEvents

/// An event's identity as a frame spells it: a number alone where the link implies the rest.
package enum WireID: Sendable, Hashable {
    /// Offered by the side that sends the frame.
    case sender(number: UInt64)
    /// Offered by the side that receives the frame.
    case receiver(number: UInt64)
    /// Offered by a third process.
    case other(origin: String, incarnation: UInt64, number: UInt64)
}

/// The name in an event frame: the number that the receiver's interest gave it, or the text.
package enum WireName: Sendable, Hashable {
    case number(UInt64)
    case text(String)
}

/// What an event frame says about its event, besides the payload.
package struct EventHead: Sendable, Hashable {
    package var sequence: UntrustedNumber
    package var id: WireID
    package var nanosecondsSinceEpoch: UntrustedNumber
    package var name: WireName
    package var attempt: UntrustedNumber = 1
    package var cause: WireID?
    package var root: WireID?
    /// W3C trace context, as the header field spells it.
    package var traceparent: String?
    /// Events of the same origin with a lower number will not come again.
    package var settledBelow: UntrustedNumber?
    /// Whether the event's publisher waits for a receipt from every process.
    package var wantsReceipt = false
    /// The worker's mark, which the host keeps with the event; only from a worker to a host that keeps bookmarks.
    package var bookmark: [UInt8]?

    package init(sequence: UInt64, id: WireID, nanosecondsSinceEpoch: UInt64, name: WireName) {
        self.sequence = UntrustedNumber(sequence)
        self.id = id
        self.nanosecondsSinceEpoch = UntrustedNumber(nanosecondsSinceEpoch)
        self.name = name
    }
}

/// Encoding and decoding of event frames: `[8, sequence, id, time, name, options, payload]`.
///
/// The payload is the last element, so that its extent is known without decoding it: an event that is only passed on is
/// never decoded.
package enum EventFrame {
    private enum Option {
        static let attempt: UInt64 = 1
        static let cause: UInt64 = 2
        static let root: UInt64 = 3
        static let traceparent: UInt64 = 4
        static let settledBelow: UInt64 = 5
        static let flags: UInt64 = 6
        static let bookmark: UInt64 = 7
    }

    private enum Flag {
        static let wantsReceipt: UInt64 = 1
    }

    static let elements = 7

    // MARK: - Encoding

    /// Appends the frame up to the payload; the frame's length includes the payload.
    package static func encodeHead(_ head: EventHead, payloadBytes: Int, into buffer: CBORBuffer) {
        let start = buffer.appendHole(FrameDecoder.headBytes)
        let writer = CBORWriter(buffer)
        writer.arrayHead(elements)
        writer.unsigned(FrameKind.event.rawValue)
        writer.unsigned(head.sequence)
        if case .sender(let number) = head.id, head.sequence == number {
            writer.null()
        } else {
            encode(head.id, writer)
        }
        writer.unsigned(head.nanosecondsSinceEpoch)
        switch head.name {
        case .number(let number): writer.unsigned(number)
        case .text(let text): writer.text(text)
        }
        encodeOptions(of: head, writer)
        let body = buffer.count - start - FrameDecoder.headBytes + payloadBytes
        buffer.patch(at: start, withBigEndian: UInt32(clamping: body))
    }

    private static func encodeOptions(of head: EventHead, _ writer: CBORWriter) {
        var count = 0
        if head.attempt != 1 { count += 1 }
        if head.cause != nil { count += 1 }
        if head.root != nil { count += 1 }
        if head.traceparent != nil { count += 1 }
        if head.settledBelow != nil { count += 1 }
        if head.wantsReceipt { count += 1 }
        if head.bookmark != nil { count += 1 }
        guard count > 0 else {
            writer.null()
            return
        }
        writer.mapHead(count)
        if head.attempt != 1 {
            writer.unsigned(Option.attempt)
            writer.unsigned(head.attempt)
        }
        if let cause = head.cause {
            writer.unsigned(Option.cause)
            encode(cause, writer)
        }
        if let root = head.root {
            writer.unsigned(Option.root)
            encode(root, writer)
        }
        if let traceparent = head.traceparent {
            writer.unsigned(Option.traceparent)
            writer.text(traceparent)
        }
        if let settledBelow = head.settledBelow {
            writer.unsigned(Option.settledBelow)
            writer.unsigned(settledBelow)
        }
        if head.wantsReceipt {
            writer.unsigned(Option.flags)
            writer.unsigned(Flag.wantsReceipt)
        }
        if let bookmark = head.bookmark {
            writer.unsigned(Option.bookmark)
            writer.bytes(bookmark)
        }
    }

    /// The head of an event that this side offers and that has no cause: it has a number for the name, and no option
    /// but ``EventHead/settledBelow``.
    package struct PlainHead {
        private let sequence: UInt64
        private let number: UInt64
        private let time: UInt64
        private let name: UInt64
        private let settledBelow: UInt64?

        /// How many bytes the head has.
        package let length: Int

        package init(
            sequence: UInt64,
            number: UInt64,
            nanosecondsSinceEpoch: UInt64,
            name: UInt64,
            settledBelow: UInt64?
        ) {
            self.sequence = sequence
            self.number = number
            time = nanosecondsSinceEpoch
            self.name = name
            self.settledBelow = settledBelow
            let id = number == sequence ? 1 : Self.length(of: number)
            // One byte begins the options, and the key of the only option takes another.
            let options = settledBelow.map { 2 + Self.length(of: $0) } ?? 1
            // Besides the four numbers, the head has the frame's length, the array's head and the kind.
            length =
                FrameDecoder.headBytes + 2 + Self.length(of: sequence) + id + Self.length(of: nanosecondsSinceEpoch)
                + Self.length(of: name) + options
        }

        private static func length(of number: UInt64) -> Int {
            if number < 24 { return 1 }
            if number <= UInt64(UInt8.max) { return 2 }
            if number <= UInt64(UInt16.max) { return 3 }
            return number <= UInt64(UInt32.max) ? 5 : 9
        }

        /// Writes the head to `start`, where there is room for ``length`` bytes and the payload.
        package func encode(at start: UnsafeMutableRawPointer, payloadBytes: Int) {
            let body = UInt32(clamping: length - FrameDecoder.headBytes + payloadBytes)
            start.storeBytes(of: body.bigEndian, as: UInt32.self)
            var next = start + FrameDecoder.headBytes
            next.storeBytes(of: 0x80 | UInt8(elements), as: UInt8.self)
            next.storeBytes(of: UInt8(FrameKind.event.rawValue), toByteOffset: 1, as: UInt8.self)
            next += 2
            next += CBORWriter.storeHead(0, sequence, at: next)
            if number == sequence {
                next.storeBytes(of: 0xF6, as: UInt8.self)
                next += 1
            } else {
                next += CBORWriter.storeHead(0, number, at: next)
            }
            next += CBORWriter.storeHead(0, time, at: next)
            next += CBORWriter.storeHead(0, name, at: next)
            if let settledBelow {
                next.storeBytes(of: EventFrame.onlySettledBelow.bigEndian, as: UInt16.self)
                _ = CBORWriter.storeHead(0, settledBelow, at: next + 2)
            } else {
                next.storeBytes(of: 0xF6, as: UInt8.self)
            }
        }
    }

    /// The head of a map of one option, and that option's key.
    private static let onlySettledBelow = UInt16(0xA1) << 8 | UInt16(Option.settledBelow)

    static func encode(_ id: WireID, _ writer: CBORWriter) {
        switch id {
        case .sender(let number):
            writer.unsigned(number)
        case .receiver(let number):
            writer.negative(number)
        case .other(let origin, let incarnation, let number):
            writer.arrayHead(3)
            writer.text(origin)
            writer.unsigned(incarnation)
            writer.unsigned(number)
        }
    }

    // MARK: - Decoding

    /// Takes a frame's body apart.
    ///
    /// - Returns: The head, and the offset in `body` at which the payload begins; the payload goes on to the end.
    package static func decode(
        _ body: UnsafeRawBufferPointer,
        limits: LinkLimits
    ) throws -> (head: EventHead, payloadOffset: Int) {
        if let (event, name) = decodePlain(body, at: 0) {
            var head = EventHead(
                sequence: event.sequence.asWritten,
                id: .sender(number: event.number),
                nanosecondsSinceEpoch: event.nanosecondsSinceEpoch,
                name: .number(name)
            )
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

    /// Takes apart the whole frames at the beginning of `bytes`, as long as each has a ``PlainHead`` and all have the
    /// same name.
    ///
    /// - Parameters:
    ///   - decoder: finds the frames.
    ///   - events: gets the events.
    /// - Returns: How many events there are, and their name.
    package static func decodeRun(
        _ bytes: UnsafeRawBufferPointer,
        with decoder: FrameDecoder,
        into events: UnsafeMutableBufferPointer<ArrivedEvent>
    ) -> (count: Int, name: UInt64) {
        var (count, start, runName) = (0, 0, UInt64(0))
        while count < events.count, start < longestRun {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
            // If the next bytes are no frame, they are an error only when the events before them are handled.
            guard case .frame(let length)? = try? decoder.next(in: rest) else { break }
            let body = UnsafeRawBufferPointer(rebasing: rest[FrameDecoder.headBytes..<length])
            guard let (event, name) = decodePlain(body, at: start), count == 0 || name == runName else { break }
            events.initializeElement(at: count, to: event)
            runName = name
            count &+= 1
            start &+= length
        }
        return (count, runName)
    }

    /// How many bytes the frames of a run have before its last one: much less than a window, so that the sender learns
    /// in time what is handled.
    private static let longestRun = 64 << 10

    /// Takes apart a frame that begins with a ``PlainHead``; nil for any other frame, valid or not.
    ///
    /// - Parameter start: where the frame begins in its run.
    @inline(__always)
    private static func decodePlain(
        _ body: UnsafeRawBufferPointer,
        at start: Int
    ) -> (event: ArrivedEvent, name: UInt64)? {
        // 40 bytes hold four numbers of at most nine bytes each, the bytes around them, and a byte of payload.
        guard body.count >= 40, body[0] == 0x80 | UInt8(elements), body[1] == UInt8(FrameKind.event.rawValue) else {
            return nil
        }
        var position = 2
        guard let sequence = number(in: body, at: &position) else { return nil }
        var id = sequence
        if body[position] == 0xF6 {
            position &+= 1
        } else {
            guard let number = number(in: body, at: &position) else { return nil }
            id = number
        }
        guard let time = number(in: body, at: &position), let name = number(in: body, at: &position) else { return nil }
        var settledBelow: UInt64?
        if body[position] == 0xF6 {
            position &+= 1
        } else {
            // 12 bytes hold the option's head and key, a number of at most nine bytes, and a byte of payload.
            guard body.count &- position >= 12,
                UInt16(bigEndian: body.loadUnaligned(fromByteOffset: position, as: UInt16.self)) == onlySettledBelow
            else { return nil }
            position &+= 2
            settledBelow = number(in: body, at: &position)
            guard settledBelow != nil else { return nil }
        }
        let event = ArrivedEvent(
            sequence: sequence,
            number: id,
            nanosecondsSinceEpoch: time,
            settledBelow: settledBelow,
            start: start,
            frameLength: FrameDecoder.headBytes &+ body.count,
            payloadOffset: FrameDecoder.headBytes &+ position
        )
        return (event, name)
    }

    /// The number at `position`, which moves behind it; nil if another item begins there.
    ///
    /// Nine bytes must be left.
    @inline(__always)
    private static func number(in body: UnsafeRawBufferPointer, at position: inout Int) -> UInt64? {
        let initial = body[position]
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
            case Option.flags: head.wantsReceipt = try reader.readUnsigned() & Flag.wantsReceipt != 0
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

    /// Checks the name of an event that a peer offers, or announces that it will offer.
    static func checkEventName(_ name: String, limits: LinkLimits) throws(LinkViolation) {
        try checkName(name, limits: limits)
        guard name != EventName.everything.text else {
            throw LinkViolation("no event has the name \"\(name)\", which stands for all events where they are wanted")
        }
    }

    static func checkName(_ name: String, limits: LinkLimits) throws(LinkViolation) {
        let length = name.utf8.count
        guard length > 0, length <= limits.eventNameBytes else {
            throw LinkViolation("a name has 1 to \(limits.eventNameBytes) bytes; this one has \(length)")
        }
    }
}
