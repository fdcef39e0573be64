package import CBOR
import DomainEvents

/// An event's identity as a frame spells it: a number alone where the link implies the rest.
package enum WireID: Sendable, Hashable {
    /// An event of the side that sends the frame.
    case sender(number: UInt64)
    /// An event of the side that receives the frame.
    case receiver(number: UInt64)
    /// An event of a third process.
    case other(origin: String, incarnation: UInt64, number: UInt64)
}

/// The name in the frame of an event or a gap: the number that the receiver's interest gave it, or the text.
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
    /// The settled mark: events of the same source with a lower number will not come again.
    package var settledBelow: UntrustedNumber?
    /// Whether the event's publisher waits for a receipt from every process.
    package var wantsReceipt = false
    /// Whether the event comes again, out of a journal and to this receiver alone; only a host sends such events.
    package var isReplay = false
    /// The worker's bookmark, which the host keeps with the event; sent only to a host that keeps bookmarks.
    package var bookmark: [UInt8]?

    /// Whether the event may be part of a run: the events of a run differ only in sequence, number, time, settled mark,
    /// payload, and causes that are events of the link's two processes.
    package var isPlain: Bool {
        guard case .number = name else { return false }
        if case .other = cause { return false }
        if case .other = root { return false }
        return attempt == 1 && traceparent == nil && !wantsReceipt && !isReplay && bookmark == nil
    }

    package init(sequence: UInt64, id: WireID, nanosecondsSinceEpoch: UInt64, name: WireName) {
        self.sequence = UntrustedNumber(sequence)
        self.id = id
        self.nanosecondsSinceEpoch = UntrustedNumber(nanosecondsSinceEpoch)
        self.name = name
    }
}

/// Encoding and decoding of event frames: `[8, sequence, id, time, name, options, payload]`.
///
/// The payload is the last element, so its extent is known without decoding it: an event can be passed on undecoded.
package enum EventFrame {
    enum Option {
        static let attempt: UInt64 = 1
        static let cause: UInt64 = 2
        static let root: UInt64 = 3
        static let traceparent: UInt64 = 4
        static let settledBelow: UInt64 = 5
        static let flags: UInt64 = 6
        static let bookmark: UInt64 = 7
    }

    enum Flag {
        static let wantsReceipt: UInt64 = 1
        static let isReplay: UInt64 = 2
    }

    static let elements = 7

    // MARK: - Encoding

    /// Appends the frame up to the payload; the frame's length includes the payload.
    package static func encodeHead(_ head: EventHead, payloadBytes: Int, into buffer: CBORBuffer) {
        buffer.appendFrame(payloadBytes: payloadBytes) { writer in
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
        }
    }

    private static func encodeOptions(of head: EventHead, _ writer: CBORWriter) {
        var count = 0
        if head.attempt != 1 { count += 1 }
        if head.cause != nil { count += 1 }
        if head.root != nil { count += 1 }
        if head.traceparent != nil { count += 1 }
        if head.settledBelow != nil { count += 1 }
        let flags = (head.wantsReceipt ? Flag.wantsReceipt : 0) | (head.isReplay ? Flag.isReplay : 0)
        if flags != 0 { count += 1 }
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
        if flags != 0 {
            writer.unsigned(Option.flags)
            writer.unsigned(flags)
        }
        if let bookmark = head.bookmark {
            writer.unsigned(Option.bookmark)
            writer.bytes(bookmark)
        }
    }

    /// The head of most events: its name is a number, and its only options are ``EventHead/settledBelow`` and causes
    /// that are events of the link's two processes.
    package struct PlainHead {
        private let sequence: UInt64
        /// The spelling of the event's source; empty if the source is this side.
        private let source: UnsafeRawBufferPointer
        private let number: UInt64
        private let time: UInt64
        private let name: UInt64
        private let causes: NearCauses
        private let settledBelow: UInt64?

        /// How many bytes the head has.
        package let length: Int

        /// - Parameter source: the spelling of the event's source, which the caller keeps as long as this value is
        ///   used; empty if the source is this side.
        package init(
            sequence: UInt64,
            source: UnsafeRawBufferPointer,
            number: UInt64,
            nanosecondsSinceEpoch: UInt64,
            name: UInt64,
            causes: NearCauses,
            settledBelow: UInt64?
        ) {
            self.sequence = sequence
            self.source = source
            self.number = number
            time = nanosecondsSinceEpoch
            self.name = name
            self.causes = causes
            self.settledBelow = settledBelow
            let id = source.isEmpty && number == sequence ? 1 : source.count + Self.length(of: number)
            // One byte begins the options, and the key of each option takes another.
            var options = 1
            if let cause = causes.cause { options += 1 + Self.length(of: cause) }
            if let root = causes.root { options += 1 + Self.length(of: root) }
            if let settledBelow { options += 1 + Self.length(of: settledBelow) }
            // Besides the four numbers, the head has the frame's length, the array's head and the kind.
            length =
                FrameDecoder.headBytes + 2 + Self.length(of: sequence) + id + Self.length(of: nanosecondsSinceEpoch)
                + Self.length(of: name) + options
        }

        /// How many bytes an unsigned number takes, or the beginning of a text or an array of this length.
        static func length(of number: UInt64) -> Int {
            if number < 24 { return 1 }
            if number <= UInt64(UInt8.max) { return 2 }
            if number <= UInt64(UInt16.max) { return 3 }
            return number <= UInt64(UInt32.max) ? 5 : 9
        }

        private static func length(of id: NearID) -> Int {
            switch id {
            case .sender(let number), .receiver(let number): length(of: number)
            }
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
            if let start = source.baseAddress {
                next.copyMemory(from: start, byteCount: source.count)
                next += source.count + CBORWriter.storeHead(0, number, at: next + source.count)
            } else if number == sequence {
                next.storeBytes(of: 0xF6, as: UInt8.self)
                next += 1
            } else {
                next += CBORWriter.storeHead(0, number, at: next)
            }
            next += CBORWriter.storeHead(0, time, at: next)
            next += CBORWriter.storeHead(0, name, at: next)
            if causes.cause == nil, causes.root == nil, settledBelow == nil {
                return next.storeBytes(of: 0xF6, as: UInt8.self)
            }
            let options = (causes.cause == nil ? 0 : 1) + (causes.root == nil ? 0 : 1) + (settledBelow == nil ? 0 : 1)
            next.storeBytes(of: 0xA0 | UInt8(options), as: UInt8.self)
            next += 1
            if let cause = causes.cause { next += Self.store(Option.cause, cause, at: next) }
            if let root = causes.root { next += Self.store(Option.root, root, at: next) }
            if let settledBelow { _ = Self.store(Option.settledBelow, .sender(settledBelow), at: next) }
        }

        /// Writes an option; returns how many bytes it has.
        private static func store(_ key: UInt64, _ value: NearID, at next: UnsafeMutableRawPointer) -> Int {
            next.storeBytes(of: UInt8(key), as: UInt8.self)
            switch value {
            case .sender(let number): return 1 + CBORWriter.storeHead(0, number, at: next + 1)
            case .receiver(let number): return 1 + CBORWriter.storeHead(0x20, number, at: next + 1)
            }
        }
    }

    static func encode(_ id: WireID, _ writer: CBORWriter) {
        switch id {
        case .sender(let number):
            writer.unsigned(number)
        case .receiver(let number):
            writer.negative(number)
        case .other(let origin, let incarnation, let number):
            encodeSource(origin: origin, incarnation: incarnation, writer)
            writer.unsigned(number)
        }
    }

    /// Writes the identity of a third process's event, up to the number.
    static func encodeSource(origin: String, incarnation: UInt64, _ writer: CBORWriter) {
        writer.arrayHead(3)
        writer.text(origin)
        writer.unsigned(incarnation)
    }
}
