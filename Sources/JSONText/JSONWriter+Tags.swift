import CBOR

/// Tagged values: those whose meaning JSON texts have a customary form for. A tag around something that does not fit it is
/// left out, like an unknown one.
extension JSONWriter {
    private enum Tag {
        static let epochDate: UInt64 = 1
        static let bigInteger: UInt64 = 2
        static let negativeBigInteger: UInt64 = 3
        static let decimal: UInt64 = 4
        static let uuid: UInt64 = 37
    }

    func write(_ content: CBORValue, tag: UInt64, to output: inout [UInt8], indentation: Int) {
        switch (tag, content) {
        case (Tag.epochDate, _):
            if let text = Self.dateText(content) {
                JSONEscaping.append(text, to: &output)
                return
            }
        case (Tag.bigInteger, .bytes), (Tag.negativeBigInteger, .bytes):
            if let number = DecimalText(.tagged(tag, content)) {
                output += number.integerText.utf8
                return
            }
        case (Tag.decimal, .array(let parts)) where parts.count == 2:
            if let exponent = Self.integer(parts[0]), let mantissa = DecimalText(parts[1]) {
                output += mantissa.text(exponent: exponent).utf8
                return
            }
        case (Tag.uuid, .bytes(let bytes)) where bytes.count == 16:
            Self.appendUUID(bytes, to: &output)
            return
        default:
            break
        }
        write(content, to: &output, indentation: indentation)
    }

    private static func dateText(_ value: CBORValue) -> String? {
        switch value {
        case .double(let seconds): DateText.rfc3339(seconds: seconds)
        case .unsigned, .negative: integer(value).flatMap { DateText.rfc3339(seconds: $0, microseconds: 0) }
        default: nil
        }
    }

    private static func integer(_ value: CBORValue) -> Int64? {
        switch value {
        case .unsigned(let number): Int64(exactly: number)
        case .negative(let number): Int64(exactly: number).map { -1 - $0 }
        default: nil
        }
    }

    private static func appendUUID(_ bytes: [UInt8], to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) {
                output.append(UInt8(ascii: "-"))
            }
            Hexadecimal.append(byte, to: &output)
        }
        output.append(UInt8(ascii: "\""))
    }
}
