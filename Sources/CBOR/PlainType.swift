/// The common types of array elements.
///
/// They are coded directly, because their own `Codable` conformance asks for an encoder and a container each time.
enum PlainType {
    // Each cast is between a type and itself: the comparison before it proves that. For `UInt8` no comparison is left,
    // and the call of `isPlain` proves it.

    /// Writes a value; `isPlain` must be true of its type.
    @inline(__always)
    static func encode<T>(_ value: T, to output: UnsafeMutablePointer<CBORBuffer.Storage>) {
        if T.self == String.self {
            output.pointee.text(unsafeBitCast(value, to: String.self))
        } else if T.self == Int.self {
            output.pointee.integer(Int64(unsafeBitCast(value, to: Int.self)))
        } else if T.self == Double.self {
            output.pointee.floatingPoint(unsafeBitCast(value, to: Double.self))
        } else {
            output.pointee.head(0, UInt64(unsafeBitCast(value, to: UInt8.self)))
        }
    }

    /// Whether `encode` and `decode` know the type.
    @inline(__always)
    static func isPlain<T>(_ type: T.Type) -> Bool {
        T.self == String.self || T.self == Int.self || T.self == Double.self || T.self == UInt8.self
    }

    /// Reads a value and moves the offset past it; `isPlain` must be true of its type.
    @inline(__always)
    static func decode<T>(_ type: T.Type, at offset: inout Int, in input: DecodingInput) throws(CBORError) -> T {
        if T.self == String.self {
            let read = try input.string(at: offset)
            offset = read.end
            return unsafeBitCast(read.value, to: T.self)
        } else if T.self == Int.self {
            let read = try input.integer(Int.self, at: offset)
            offset = read.end
            return unsafeBitCast(read.value, to: T.self)
        } else if T.self == Double.self {
            let read = try input.double(at: offset)
            offset = read.end
            return unsafeBitCast(read.value, to: T.self)
        } else {
            let read = try input.integer(UInt8.self, at: offset)
            offset = read.end
            return unsafeBitCast(read.value, to: T.self)
        }
    }
}
