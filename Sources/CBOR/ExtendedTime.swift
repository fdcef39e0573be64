/// The content of tag 1001 (RFC 9581), as far as this module reads it: a time since 1970, and its finer part.
///
/// A map with an unknown key is refused: the key might shift the time, as the key for a time scale does.
package struct ExtendedTime: Equatable {
    package enum Base: Equatable {
        case seconds(Int64)
        case fractional(Double)

        var double: Double {
            switch self {
            case .seconds(let seconds): Double(seconds)
            case .fractional(let seconds): seconds
            }
        }
    }

    /// The key of the time since 1970.
    static let baseKey: Int64 = 1
    /// The key of the nanoseconds after whole seconds.
    static let nanosecondsKey: Int64 = -9
    /// This module's own key for a double of seconds since 2001; with this key the time is exact to the last bit.
    static let referenceKey = "since2001"

    package let base: Base
    package let nanoseconds: Int64?
    package let since2001: Double?

    /// Reads the map that follows the tag.
    init(_ reader: inout CBORReader) throws(CBORError) {
        let start = reader.position
        var (base, nanoseconds, since2001): (Base?, Int64?, Double?)
        guard reader.nextMajorType == .map, let pairs = try reader.readMapHead(), pairs <= 2 else {
            throw reader.mismatch(Self.form, at: start)
        }
        for _ in 0..<pairs {
            let place = reader.position
            if reader.nextMajorType == .text {
                let key = try reader.readText()
                guard key == Self.referenceKey, since2001 == nil else { throw reader.mismatch(Self.form, at: place) }
                since2001 = try Self.finite(&reader)
                continue
            }
            switch try reader.readInteger(Int64.self) {
            case Self.baseKey where base == nil:
                base =
                    reader.nextMajorType == .simpleOrFloat
                    ? .fractional(try Self.finite(&reader)) : .seconds(try reader.readInteger())
            case Self.nanosecondsKey where nanoseconds == nil:
                let count = try reader.readInteger(Int64.self)
                guard (0..<1_000_000_000).contains(count) else {
                    throw reader.outOfRange("\(count) nanoseconds", Int64.self, at: place)
                }
                nanoseconds = count
            default: throw reader.mismatch(Self.form, at: place)
            }
        }
        switch (base, nanoseconds, since2001) {
        case (.seconds?, _, nil), (.fractional?, nil, nil), (.some, nil, .some): break
        default: throw reader.mismatch(Self.form, at: start)
        }
        guard let base else { throw reader.mismatch(Self.form, at: start) }
        if let since2001, base.double != since2001 + Double(EpochTime.referenceOffset) {
            throw CBORError(.invalidValue("its two times are not one"), offset: start)
        }
        (self.base, self.nanoseconds, self.since2001) = (base, nanoseconds, since2001)
    }

    /// Reads the content of the tag; nil if it has another form.
    package init?(_ value: CBORValue) {
        // A map with values other than numbers is refused here, before anything is copied.
        guard case .map(let pairs) = value, pairs.count <= 2, pairs.allSatisfy({ $0.value.isNumber }),
            let bytes = try? value.encoded()
        else { return nil }
        let read = bytes.withUnsafeBytes { bytes -> ExtendedTime? in
            var reader = CBORReader(bytes)
            return try? ExtendedTime(&reader)
        }
        guard let read else { return nil }
        self = read
    }

    private static let form = "an extended time (key 1 with seconds since 1970, and -9 with nanoseconds)"

    private static func finite(_ reader: inout CBORReader) throws(CBORError) -> Double {
        let start = reader.position
        let seconds = try reader.readDouble()
        guard seconds.isFinite else { throw CBORError(.invalidValue("\(seconds) is not a time"), offset: start) }
        return seconds
    }

    /// Whole seconds since 1970, and the nearest count of nanoseconds after them; nil if the exact seconds since 2001
    /// are beyond 2^62, or if the time is only a double of seconds since 1970.
    package var secondsAndNanoseconds: (Int64, Int64)? {
        if let since2001 { return EpochTime.split(since2001) }
        if case .seconds(let seconds) = base { return (seconds, nanoseconds ?? 0) }
        return nil
    }
}

extension CBORValue {
    fileprivate var isNumber: Bool {
        switch self {
        case .unsigned, .negative, .double: true
        default: false
        }
    }
}
