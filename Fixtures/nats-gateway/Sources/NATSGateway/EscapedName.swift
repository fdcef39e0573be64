/// Writes any name with the characters that subjects and header values of NATS allow, one to one.
///
/// Letters, digits, `-` and `_` of ASCII stay. Every other byte of the name's UTF-8 becomes `%` and two upper-case
/// hexadecimal digits, so that two names never become one subject. CloudEvents asks for the same form in headers.
enum EscapedName {
    private static let digits = Array("0123456789ABCDEF".utf8)

    static func text(of name: String) -> String {
        if isPlain(name) { return name }
        var escaped: [UInt8] = []
        for byte in name.utf8 {
            if isPlain(byte) {
                escaped.append(byte)
            } else {
                escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// The name that was escaped; nil for a text that ``text(of:)`` never makes.
    static func name(in escaped: String) -> String? {
        if isPlain(escaped) { return escaped }
        var bytes: [UInt8] = []
        var rest = Array(escaped.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = value(rest.popFirst()), let low = value(rest.popFirst()) else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        guard let name = String(validating: bytes, as: UTF8.self), text(of: name) == escaped else { return nil }
        return name
    }

    /// Whether a name has only characters that stay.
    static func isPlain(_ name: String) -> Bool {
        name.utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isPlain) } ?? name.utf8.allSatisfy(isPlain)
    }

    static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func value(_ digit: UInt8?) -> UInt8? {
        guard let digit, let index = digits.firstIndex(of: digit) else { return nil }
        return UInt8(index)
    }
}
