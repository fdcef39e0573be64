/// Where in a distributed trace an event belongs: the W3C Trace Context header field `traceparent`.
///
/// The publisher passes the value on and never makes one: in every process, an event published inside a handler gets
/// the handled event's value. A program that records spans publishes with the identifier of its own span:
/// ``EventPublisher/publish(_:traceparent:)-(E,_)``.
///
/// The form follows <https://www.w3.org/TR/trace-context-1/#traceparent-header>: version, trace, parent and flags, in
/// lower-case hexadecimal. For a later version, the four parts known today are kept, as that document asks.
public struct Traceparent: Hashable, Sendable, LosslessStringConvertible {
    /// The upper half of the trace's identifier.
    private let traceHigh: UInt64
    /// The lower half of the trace's identifier.
    private let traceLow: UInt64
    /// The span that published the event; never 0.
    private let parent: UInt64
    private let flags: UInt8

    /// Reads a header field's value, such as `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`.
    ///
    /// - Returns: Nil if the value is not valid by the recommendation, which says to ignore such a value.
    public init?(_ description: String) {
        var reader = HexadecimalReader(description.utf8)
        guard let version = reader.read(digits: 2), version != 0xFF, reader.skipHyphen(),
            let high = reader.read(digits: 16), let low = reader.read(digits: 16), reader.skipHyphen(),
            let parent = reader.read(digits: 16), reader.skipHyphen(),
            let flags = reader.read(digits: 2),
            high | low != 0, parent != 0,
            reader.isAtEnd || (version > 0 && reader.skipHyphen())
        else { return nil }
        (traceHigh, traceLow, self.parent, self.flags) = (high, low, parent, UInt8(truncatingIfNeeded: flags))
    }

    /// Whether the program that made this value may have recorded the trace.
    public var isSampled: Bool { flags & 1 != 0 }

    /// The trace's identifier: 32 hexadecimal digits.
    public var traceID: String { digits(traceHigh, 16) + digits(traceLow, 16) }

    /// The identifier of the span that published the event: 16 hexadecimal digits.
    public var parentID: String { digits(parent, 16) }

    /// The header field's value, in version 00.
    public var description: String { "00-\(traceID)-\(parentID)-\(digits(UInt64(flags), 2))" }

    private func digits(_ number: UInt64, _ count: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: count - text.utf8.count) + text
    }
}

/// Parses a text of hexadecimal digits and hyphens.
private struct HexadecimalReader {
    private var rest: Substring.UTF8View

    init(_ text: String.UTF8View) {
        rest = text[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skipHyphen() -> Bool { rest.popFirst() == UInt8(ascii: "-") }

    /// Reads lower-case digits only, as the recommendation demands.
    mutating func read(digits: Int) -> UInt64? {
        var number: UInt64 = 0
        for _ in 0..<digits {
            switch rest.popFirst() {
            case .some(let digit) where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit):
                number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case .some(let digit) where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit):
                number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}
