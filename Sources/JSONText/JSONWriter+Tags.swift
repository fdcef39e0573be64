import CBOR

/// Tagged values whose meaning has a customary form in JSON texts.
///
/// A tag is left out, like an unknown tag, if its content does not fit the tag.
extension JSONWriter {
    func write(_ content: CBORValue, tag: UInt64, to output: inout [UInt8], indentation: Int) {
        switch (tag, content) {
        case (CBORTag.epochTime, _):
            if let text = Self.dateText(content) {
                JSONEscaping.append(text, to: &output)
                return
            }
        case (CBORTag.extendedTime, .map):
            if let text = Self.extendedTimeText(content) {
                JSONEscaping.append(text, to: &output)
                return
            }
        case (CBORTag.unsignedBignum, .bytes), (CBORTag.negativeBignum, .bytes):
            if let number = DecimalText(.tagged(tag, content)) {
                output += number.integerText.utf8
                return
            }
        case (CBORTag.decimalFraction, .array(let parts)) where parts.count == 2:
            if let exponent = Self.integer(parts[0]), let mantissa = DecimalText(parts[1]) {
                output += mantissa.text(exponent: exponent).utf8
                return
            }
        case (CBORTag.uuid, .bytes(let bytes)) where bytes.count == 16:
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
        case .unsigned, .negative: integer(value).flatMap { DateText.rfc3339(seconds: $0, nanoseconds: 0) }
        default: nil
        }
    }

    /// The RFC 3339 text of an extended time, to the nanosecond, the finest that ``RFC3339`` reads.
    private static func extendedTimeText(_ value: CBORValue) -> String? {
        guard let time = ExtendedTime(value) else { return nil }
        if case .fractional(let seconds) = time.base, time.since2001 == nil {
            return DateText.rfc3339(seconds: seconds)
        }
        return time.secondsAndNanoseconds.flatMap { seconds, nanoseconds in
            DateText.rfc3339(seconds: seconds, nanoseconds: Int(nanoseconds), hasAllDecimals: nanoseconds != 0)
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
