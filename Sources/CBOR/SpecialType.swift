// The small half of Foundation is a module of its own where it exists; elsewhere there is only the whole.
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The types whose CBOR form is not the one that their own `Codable` conformance would give them.
enum SpecialType {
    @inline(__always)
    static func isSpecial<T>(_ type: T.Type) -> Bool {
        T.self == Date.self || T.self == Data.self || T.self == UUID.self || T.self == URL.self
            || T.self == Decimal.self
    }

    @inline(never)
    static func encode<T>(
        _ value: T,
        to writer: CBORWriter,
        depth: Int,
        limits: CBORLimits
    ) throws(CBORError) {
        // A tag is a level, and the array in a decimal fraction another.
        let levels = value is Data ? 0 : value is Decimal ? 2 : 1
        guard depth + levels <= limits.maximumDepth else {
            throw CBORError(.depthExceeded(limit: limits.maximumDepth), offset: writer.buffer.count)
        }
        switch value {
        case let date as Date: try encode(date, to: writer)
        case let data as Data: data.withUnsafeBytes { writer.bytes($0) }
        case let uuid as UUID:
            writer.tag(CBORTag.uuid)
            withUnsafeBytes(of: uuid.uuid) { writer.bytes($0) }
        case let url as URL:
            writer.tag(CBORTag.uri)
            writer.text(url.absoluteString)
        case let decimal as Decimal: try encode(decimal, to: writer)
        default: throw CBORError(.valueNotEncodable("\(T.self) has no special form"), offset: writer.buffer.count)
        }
    }

    private static func encode(_ date: Date, to writer: CBORWriter) throws(CBORError) {
        guard let time = EpochTime(date) else {
            throw CBORError(.valueNotEncodable("the date is not a finite time"), offset: writer.buffer.count)
        }
        writer.tag(CBORTag.epochTime)
        switch time {
        case .seconds(let seconds): writer.integer(seconds)
        case .fractional(let seconds): writer.floatingPoint(seconds)
        }
    }

    private static func encode(_ decimal: Decimal, to writer: CBORWriter) throws(CBORError) {
        guard let fraction = DecimalFraction(decimal) else {
            throw CBORError(.valueNotEncodable("the decimal is not a number"), offset: writer.buffer.count)
        }
        writer.tag(CBORTag.decimalFraction)
        writer.arrayHead(2)
        writer.integer(Int64(fraction.exponent))
        fraction.writeMantissa(to: writer)
    }
}
