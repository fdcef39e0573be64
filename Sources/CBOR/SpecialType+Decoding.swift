// FoundationEssentials, the small half of Foundation, is a module only on some systems; elsewhere there is only the
// whole.
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Reads the special types from their CBOR forms or from their forms in JSON.
extension SpecialType {
    @inline(never)
    static func decode<T>(_ type: T.Type, at offset: Int, in input: DecodingInput) throws(CBORError) -> T {
        let start = try input.skippingSelfDescription(at: offset)
        var reader = input.reader(at: start)
        let value: Any
        if T.self == Date.self {
            value = try date(&reader)
        } else if T.self == Data.self {
            value = try data(&reader, lender: input.state.pointee.lender)
        } else if T.self == UUID.self {
            value = try uuid(&reader)
        } else if T.self == URL.self {
            value = try url(&reader)
        } else {
            value = try decimal(&reader)
        }
        guard let result = value as? T else { throw reader.mismatch("\(T.self)", at: start) }
        return result
    }

    private static func date(_ reader: inout CBORReader) throws(CBORError) -> Date {
        let start = reader.position
        var tag: UInt64?
        if reader.nextMajorType == .tag { tag = try reader.readTag() }
        switch (tag, reader.nextMajorType) {
        case (nil, .text), (CBORTag.dateText, .text):
            let text = try reader.readText()
            guard let date = RFC3339.Time(text).flatMap(date) else {
                throw CBORError(.invalidValue("\"\(text)\" is not a date as RFC 3339 writes it"), offset: start)
            }
            return date
        case (CBORTag.epochTime, .unsigned), (CBORTag.epochTime, .negative):
            let seconds = try reader.readInteger(Int64.self)
            return Date(timeIntervalSince1970: Double(seconds))
        case (CBORTag.epochTime, .simpleOrFloat):
            let seconds = try reader.readDouble()
            guard seconds.isFinite else { throw CBORError(.invalidValue("\(seconds) is not a time"), offset: start) }
            return Date(timeIntervalSince1970: seconds)
        case (CBORTag.extendedTime, _):
            return try date(ExtendedTime(&reader), &reader, start)
        default:
            throw reader.mismatch("a date (tag 1 or 1001, or text as RFC 3339 writes it)", at: start)
        }
    }

    /// The date that a text stands for.
    ///
    /// Text with at most six decimals is assumed to come from a `Double` of seconds since 1970, and gives that double.
    /// Text with more decimals is taken to the nanosecond.
    private static func date(_ time: RFC3339.Time) -> Date? {
        if let seconds = time.doubleSince1970 { return Date(timeIntervalSince1970: seconds) }
        return EpochTime.secondsSince2001(seconds: time.seconds, nanoseconds: time.nanoseconds)
            .map(Date.init(timeIntervalSinceReferenceDate:))
    }

    private static func date(
        _ time: ExtendedTime,
        _ reader: inout CBORReader,
        _ start: Int
    ) throws(CBORError) -> Date {
        if let exact = time.since2001 { return Date(timeIntervalSinceReferenceDate: exact) }
        switch time.base {
        case .fractional(let seconds): return Date(timeIntervalSince1970: seconds)
        case .seconds(let seconds):
            let interval = EpochTime.secondsSince2001(seconds: seconds, nanoseconds: time.nanoseconds ?? 0)
            guard let interval else { throw reader.outOfRange("\(seconds) s since 1970", Date.self, at: start) }
            return Date(timeIntervalSinceReferenceDate: interval)
        }
    }

    private static func data(_ reader: inout CBORReader, lender: LentBytes?) throws(CBORError) -> Data {
        let start = reader.position
        switch reader.nextMajorType {
        case .bytes:
            if reader.nextIsIndefinite { return Data(try reader.readByteArray()) }
            let content = try reader.readBytes()
            return lender?.data(content) ?? Data(content)
        case .text:
            guard let data = Data(base64Encoded: try reader.readText()) else {
                throw CBORError(.invalidValue("the text is not base64"), offset: start)
            }
            return data
        default:
            throw reader.mismatch("a byte string or base64 text", at: start)
        }
    }

    private static func uuid(_ reader: inout CBORReader) throws(CBORError) -> UUID {
        let start = reader.position
        if reader.nextMajorType == .text {
            let text = try reader.readText()
            guard let uuid = UUID(uuidString: text) else {
                throw CBORError(.invalidValue("\"\(text)\" is not a UUID"), offset: start)
            }
            return uuid
        }
        guard reader.nextMajorType == .tag, try reader.readTag() == CBORTag.uuid, reader.nextMajorType == .bytes
        else {
            throw reader.mismatch("a UUID (tag 37, or text)", at: start)
        }
        let content = try reader.readByteArray()
        guard content.count == 16 else {
            throw CBORError(.invalidValue("a UUID has 16 bytes, not \(content.count)"), offset: start)
        }
        return content.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    private static func url(_ reader: inout CBORReader) throws(CBORError) -> URL {
        let start = reader.position
        if reader.nextMajorType == .tag, try reader.readTag() != CBORTag.uri {
            throw reader.mismatch("a URL (tag 32, or text)", at: start)
        }
        guard reader.nextMajorType == .text else { throw reader.mismatch("a URL (tag 32, or text)", at: start) }
        let text = try reader.readText()
        guard let url = URL(string: text) else {
            throw CBORError(.invalidValue("\"\(text)\" is not a URL"), offset: start)
        }
        return url
    }

    private static func decimal(_ reader: inout CBORReader) throws(CBORError) -> Decimal {
        let start = reader.position
        guard let major = reader.nextMajorType else { throw reader.failure(.unexpectedEnd) }
        switch major {
        case .unsigned, .negative:
            return try mantissa(exponent: 0, &reader, start)
        case .simpleOrFloat:
            let number = try reader.readDouble()
            // As in JSON, the decimal comes from the shortest text that reads back as this double.
            guard number.isFinite, let decimal = Decimal(string: "\(number)") else {
                throw reader.outOfRange("\(number)", Decimal.self, at: start)
            }
            return decimal
        case .tag:
            var ahead = reader
            if try ahead.readTag() != CBORTag.decimalFraction { return try mantissa(exponent: 0, &reader, start) }
            reader = ahead
            guard reader.nextMajorType == .array, try reader.readArrayHead() == 2 else {
                throw reader.mismatch("a decimal fraction of an exponent and a mantissa", at: start)
            }
            return try mantissa(exponent: try reader.readInteger(Int.self), &reader, start)
        default:
            throw reader.mismatch("a decimal number", at: start)
        }
    }

    /// Reads an integer or bignum as the mantissa, and makes a decimal of it and the exponent.
    private static func mantissa(
        exponent: Int,
        _ reader: inout CBORReader,
        _ start: Int
    ) throws(CBORError) -> Decimal {
        let head = try reader.readHead()
        var decimal: Decimal?
        switch (head.majorType, head.argument) {
        case (.unsigned, _), (.negative, _):
            decimal = withUnsafeBytes(of: head.argument.bigEndian) { bytes in
                let isNegative = head.majorType == .negative
                return DecimalFraction.decimal(exponent: exponent, magnitude: bytes, isNegative: isNegative)
            }
        case (.tag, CBORTag.unsignedBignum), (.tag, CBORTag.negativeBignum):
            let magnitude = try reader.readByteArray()
            decimal = magnitude.withUnsafeBytes { bytes in
                let isNegative = head.argument == CBORTag.negativeBignum
                return DecimalFraction.decimal(exponent: exponent, magnitude: bytes, isNegative: isNegative)
            }
        default:
            throw reader.mismatch("a decimal number", at: start)
        }
        guard let decimal else { throw reader.outOfRange("with exponent \(exponent)", Decimal.self, at: start) }
        return decimal
    }
}
