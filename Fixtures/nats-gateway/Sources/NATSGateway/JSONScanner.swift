/// Reads JSON from its beginning to its end, value by value; nil for what is no JSON or no value of the requested kind.
///
/// JetStream answers each message with a small object. Foundation's decoder would take more time than everything else
/// that is done for a message, and more memory than the rest of the process.
struct JSONScanner {
    private var rest: ArraySlice<UInt8>

    /// How deeply objects and arrays may lie in each other.
    private static let deepest = 16

    init(_ text: [UInt8]) { rest = text[...] }

    /// Whether nothing follows.
    mutating func isAtEnd() -> Bool { next() == nil }

    /// Calls `field` with the name of each member; `field` has to read the member's value.
    ///
    /// - Returns: Nil if this is no object, or `field` has returned nil.
    mutating func object(_ field: (String, inout JSONScanner) -> Void?) -> Void? {
        guard take("{") else { return nil }
        if take("}") { return () }
        repeat {
            guard let name = string(), take(":"), field(name, &self) != nil else { return nil }
        } while take(",")
        return take("}") ? () : nil
    }

    mutating func string() -> String? {
        guard take("\"") else { return nil }
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(validating: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escaped() else { return nil }
                bytes += Array(String(scalar).utf8)
            case 0..<0x20: return nil
            default: bytes.append(byte)
            }
        }
        return nil
    }

    /// A whole number that is not negative.
    mutating func count() -> UInt64? {
        guard next() != nil else { return nil }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest.removeFirst(digits.count)
        switch rest.first {
        case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): return nil
        default: break
        }
        return digits.count == 1 || digits.first != 0x30 ? UInt64(digits: digits) : nil
    }

    mutating func boolean() -> Bool? {
        if skipWord("true") { return true }
        return skipWord("false") ? false : nil
    }

    /// Passes over any value.
    mutating func skip(depth: Int = 0) -> Void? {
        guard depth < Self.deepest, let byte = next() else { return nil }
        switch byte {
        case UInt8(ascii: "{"): return object { $1.skip(depth: depth + 1) }
        case UInt8(ascii: "["):
            rest.removeFirst()
            if take("]") { return () }
            repeat { guard skip(depth: depth + 1) != nil else { return nil } } while take(",")
            return take("]") ? () : nil
        case UInt8(ascii: "\""): return string().map { _ in }
        case UInt8(ascii: "-"), 0x30...0x39:
            return skipNumber()
        default: return skipWord("null") || boolean() != nil ? () : nil
        }
    }

    // MARK: - Steps

    /// The next byte that is no white space, without consuming it.
    private mutating func next() -> UInt8? {
        while let byte = rest.first {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: rest.removeFirst()
            default: return byte
            }
        }
        return nil
    }

    private mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard next() == UInt8(ascii: sign) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skipNumber() -> Void? {
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let isZero = rest.first == 0x30
        guard let whole = skipDigits(), whole == 1 || !isZero else { return nil }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard skipDigits() != nil else { return nil }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            guard skipDigits() != nil else { return nil }
        }
        return ()
    }

    /// - Returns: How many there were; nil if there were none.
    private mutating func skipDigits() -> Int? {
        let count = rest.prefix { (0x30...0x39).contains($0) }.count
        rest.removeFirst(count)
        return count > 0 ? count : nil
    }

    private mutating func skipWord(_ word: StaticString) -> Bool {
        guard next() != nil else { return false }
        let isThere = word.withUTF8Buffer { rest.starts(with: $0) }
        if isThere { rest.removeFirst(word.utf8CodeUnitCount) }
        return isThere
    }

    /// The character for which a backslash and what follows it stand.
    private mutating func escaped() -> Unicode.Scalar? {
        switch rest.popFirst() {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let high = unit() else { return nil }
            guard UTF16.isLeadSurrogate(high) else { return Unicode.Scalar(high) }
            guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u"), let low = unit(),
                UTF16.isTrailSurrogate(low)
            else { return nil }
            return Unicode.Scalar(0x1_0000 + (UInt32(high) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
        default: return nil
        }
    }

    private mutating func unit() -> UInt16? {
        let digits = rest.prefix(4)
        rest.removeFirst(digits.count)
        guard digits.count == 4, digits.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else {
            return nil
        }
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
