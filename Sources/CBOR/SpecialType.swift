// FoundationEssentials, the small half of Foundation, is a module only on some systems; elsewhere there is only the
// whole.
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The types whose CBOR form differs from that of their own `Codable` conformance.
enum SpecialType {
    @inline(__always)
    static func isSpecial<T>(_ type: T.Type) -> Bool {
        T.self == Date.self || T.self == Data.self || T.self == UUID.self || T.self == URL.self
            || T.self == Decimal.self
    }

    @inline(never)
    static func encode<T>(
        _ value: T,
        to output: UnsafeMutablePointer<CBORBuffer.Storage>,
        depth: Int,
        limits: CBORLimits
    ) throws(CBORError) {
        // A tag is one level; the array in a decimal fraction or the map in a date is another. The tag of a long
        // mantissa is the third level of a decimal.
        let levels = value is Data ? 0 : value is Decimal ? 3 : value is Date ? 2 : 1
        guard depth + levels <= limits.maximumDepth else {
            throw CBORError(.depthExceeded(limit: limits.maximumDepth), offset: output.pointee.count)
        }
        switch value {
        case let date as Date: try encode(date, to: output)
        case let data as Data: data.withUnsafeBytes { output.pointee.bytes($0) }
        case let uuid as UUID:
            output.pointee.tag(CBORTag.uuid)
            withUnsafeBytes(of: uuid.uuid) { output.pointee.bytes($0) }
        case let url as URL:
            output.pointee.tag(CBORTag.uri)
            output.pointee.text(url.absoluteString)
        case let decimal as Decimal: try encode(decimal, to: output)
        default: throw CBORError(.valueNotEncodable("\(T.self) has no special form"), offset: output.pointee.count)
        }
    }

    private static func encode(
        _ date: Date,
        to output: UnsafeMutablePointer<CBORBuffer.Storage>
    ) throws(CBORError) {
        guard let time = EpochTime(date) else {
            throw CBORError(.valueNotEncodable("the date is not a finite time"), offset: output.pointee.count)
        }
        switch time {
        case .seconds(let seconds):
            output.pointee.tag(CBORTag.epochTime)
            output.pointee.integer(seconds)
        case .fractional(let seconds):
            output.pointee.tag(CBORTag.epochTime)
            output.pointee.floatingPoint(seconds)
        case .nanoseconds(let seconds, let nanoseconds):
            beginExtendedTime(in: output)
            output.pointee.integer(seconds)
            output.pointee.integer(ExtendedTime.nanosecondsKey)
            output.pointee.integer(nanoseconds)
        case .exact(let since1970, let since2001):
            beginExtendedTime(in: output)
            output.pointee.floatingPoint(since1970)
            output.pointee.text(ExtendedTime.referenceKey)
            output.pointee.floatingPoint(since2001)
        }
    }

    /// Writes everything that comes before the base time.
    private static func beginExtendedTime(in output: UnsafeMutablePointer<CBORBuffer.Storage>) {
        output.pointee.tag(CBORTag.extendedTime)
        output.pointee.head(CBORMajorType.map.rawValue << 5, 2)
        output.pointee.integer(ExtendedTime.baseKey)
    }

    private static func encode(
        _ decimal: Decimal,
        to output: UnsafeMutablePointer<CBORBuffer.Storage>
    ) throws(CBORError) {
        guard let fraction = DecimalFraction(decimal) else {
            throw CBORError(.valueNotEncodable("the decimal is not a number"), offset: output.pointee.count)
        }
        output.pointee.tag(CBORTag.decimalFraction)
        output.pointee.head(CBORMajorType.array.rawValue << 5, 2)
        output.pointee.integer(Int64(fraction.exponent))
        fraction.writeMantissa(to: output)
    }
}
