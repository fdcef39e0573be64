import CBOR
package import DomainEvents
import JSONText

/// One line of a worker, parsed without regard to the lines before it.
package enum LineMessage: Sendable, Hashable {
    case hello(LineHello)
    case interest(wants: [String], unwants: [String])
    case ready
    case moreTime(milliseconds: UntrustedNumber, reason: String)
    /// Every event up to this one is handled.
    case acknowledge(through: UntrustedNumber)
    case refuse(Refusal)
    case heartbeat
    case goodbye(reason: UInt64, text: String)
    case event(LineEvent)

    /// The most values in a line: each takes some dozen bytes of memory, however short its text is.
    package static let maximumValues = 1 << 18

    private enum Word: String, CaseIterable {
        case hello
        case interest
        case ready
        case moreTime = "more-time"
        case acknowledge = "ack"
        case refuse
        case heartbeat
        case goodbye
    }

    /// - Parameter line: the line without its newline.
    package init(_ line: UnsafeRawBufferPointer, limits: LinkLimits) throws(LinkViolation) {
        let node: JSONNode
        do throws(JSONError) {
            node = try JSONReader(maximumValues: Self.maximumValues).read(Array(line))
        } catch {
            throw LinkViolation("a line of \(line.count) bytes is not JSON: byte \(error.offset): \(error.message)")
        }
        guard case .object = node.value else {
            throw LinkViolation("a line holds \(ShownValue.text(node)), expected an object")
        }
        guard let bridge = node["bridge"] else {
            self = .event(try LineEvent(LineObject(node, "an event"), limits: limits))
            return
        }
        guard case .string(let text) = bridge.value, let word = Word(rawValue: text) else {
            var question = ""
            if case .string(let text) = bridge.value {
                question = NearestName.question(for: text, among: Word.allCases.map(\.rawValue))
            }
            throw LinkViolation(
                "in a line, bridge: found \(ShownValue.text(bridge)), expected the name of a message\(question)"
            )
        }
        self = try Self.read(word, LineObject(node, "a line of \(word.rawValue)"), limits: limits)
    }

    private static func read(
        _ word: Word,
        _ line: LineObject,
        limits: LinkLimits
    ) throws(LinkViolation) -> LineMessage {
        switch word {
        case .hello: return .hello(try LineHello(line, limits: limits))
        case .interest:
            return .interest(
                wants: try names("wants", of: line, limits: limits, atMost: limits.interestNames) ?? [],
                unwants: try names("unwants", of: line, limits: limits, atMost: limits.interestNames) ?? []
            )
        case .ready: return .ready
        case .moreTime:
            return .moreTime(
                milliseconds: try line.number("milliseconds") ?? 0,
                reason: try line.text("reason") ?? ""
            )
        case .acknowledge: return .acknowledge(through: try sequence(of: line))
        case .refuse:
            let reason = try line.word("reason", of: Refusal.Reason.self) ?? .handlerFailed
            return .refuse(
                Refusal(
                    sequence: try sequence(of: line).asWritten,
                    reason: reason.rawValue,
                    text: try line.text("text") ?? ""
                )
            )
        case .heartbeat: return .heartbeat
        case .goodbye:
            let reason = try line.word("reason", of: Goodbye.Reason.self) ?? .shutdown
            return .goodbye(reason: reason.rawValue, text: try line.text("text") ?? "")
        }
    }

    private static func sequence(of line: LineObject) throws(LinkViolation) -> UntrustedNumber {
        guard let sequence = try line.number("sequence") else {
            throw line.wrong("sequence", "the sequence of an event")
        }
        return sequence
    }

    static func names(
        _ key: String,
        of line: LineObject,
        limits: LinkLimits,
        atMost count: Int
    ) throws(LinkViolation) -> [String]? {
        let names = try line.texts(key, atMost: count)
        for name in names ?? [] { try EventFrame.checkName(name, limits: limits) }
        return names
    }
}

/// The first line of a worker.
package struct LineHello: Sendable, Hashable {
    package var versions: ClosedRange<UInt64>
    package var name: String
    package var cookie: String
    package var library: String
    package var wants: [String]
    /// The only names that the worker will publish; nil for any name.
    package var publishes: Set<EventName>?
    /// Whether the worker acknowledges nothing: each event then counts as settled once it is written.
    package var acknowledgesNothing: Bool
    /// How many unacknowledged events the worker takes; nil for as many as the host's limits allow.
    package var window: UntrustedNumber?
    /// Whether the worker wants to put bookmarks on its events.
    package var marksEvents: Bool

    private enum Acknowledging: String, LineWord {
        case explicit
        case nothing = "none"

        var word: String { rawValue }
    }

    init(_ line: LineObject, limits: LinkLimits) throws(LinkViolation) {
        let versions = try line.numbers("versions") ?? [ProtocolVersion.current]
        // A hello names at least one version.
        let (lowest, highest) = (versions.min() ?? 0, versions.max() ?? 0)
        self.versions = lowest...highest
        name = try line.text("name") ?? ""
        cookie = try line.text("cookie") ?? ""
        library = try line.text("library") ?? "lines"
        wants = try LineMessage.names("wants", of: line, limits: limits, atMost: limits.interestNames) ?? []
        // The length of the line alone bounds this list: it costs the host nothing beyond the hello.
        publishes = try LineMessage.names("publishes", of: line, limits: limits, atMost: .max).map(EventName.set)
        for name in publishes ?? [] { try EventFrame.checkEventName(name.text, limits: limits) }
        acknowledgesNothing = try line.word("acknowledge", of: Acknowledging.self) == .nothing
        marksEvents = try line.flag("bookmarks") ?? false
        window = try line.number("window")
        if window == 0 { throw line.wrong("window", "a number of events, at least 1") }
    }
}

/// An event in a line of a worker.
package struct LineEvent: Sendable, Hashable {
    package let name: String
    /// The event's time in nanoseconds since 1970; nil if the worker gives none: the host's clock then counts.
    package let time: UInt64?
    package let cause: EventID?
    package let traceparent: String?
    /// The worker's bookmark, which the host keeps with the event.
    package let bookmark: [UInt8]?
    /// The data, in CBOR.
    package let payload: [UInt8]

    init(_ line: LineObject, limits: LinkLimits) throws(LinkViolation) {
        guard let name = try line.text("type", "the name of an event") else {
            throw LinkViolation("a line has neither \"type\", as an event has, nor \"bridge\", as a message has")
        }
        try EventFrame.checkEventName(name, limits: limits)
        self.name = name
        if let version = try line.text("specversion"), version != "1.0" { throw line.wrong("specversion", "\"1.0\"") }
        time = try Self.time(of: line)
        cause = try Self.cause(of: line)
        // A text that is no trace context is ignored; it is no violation.
        traceparent = try line.text("traceparent").flatMap { Traceparent($0) }?.description
        bookmark = try line.text("bookmark").map { Array($0.utf8) }
        if let bookmark, bookmark.count > EventBookmark.longest {
            throw LinkViolation(
                "in an event, bookmark: found \(bookmark.count) bytes; \(EventBookmark.longest) are the most"
            )
        }
        if line.node["data_base64"] != nil {
            throw LinkViolation("in an event, data_base64: found bytes, expected the event's fields as \"data\"")
        }
        do throws(CBORError) {
            // An event without fields needs no data.
            payload = try (line.node["data"]?.cborValue ?? .map([])).encoded()
        } catch {
            throw LinkViolation("in an event, data: \(error)")
        }
    }

    private static func time(of line: LineObject) throws(LinkViolation) -> UInt64? {
        guard let text = try line.text("time") else { return nil }
        guard let time = RFC3339.Time(text), let seconds = UInt64(exactly: time.seconds) else {
            throw line.wrong("time", "a time since 1970 such as 2026-03-21T20:04:00Z")
        }
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isBeyond) = whole.addingReportingOverflow(UInt64(time.nanoseconds))
        return overflow || isBeyond ? .max : sum
    }

    private static func cause(of line: LineObject) throws(LinkViolation) -> EventID? {
        guard let text = try line.text("causationid") else { return nil }
        guard let id = EventID(text), (1...EventName.maximumBytes).contains(id.origin.utf8.count) else {
            throw line.wrong("causationid", "the id of an event that came over this link, as it was written there")
        }
        return id
    }
}
