// Each type has the same form here as in the containers of `Codable`.

extension Bool: PlainFieldValue {
    @inline(__always)
    static func write(_ value: Bool, to output: UnsafeMutablePointer<CBORBuffer.Storage>) {
        output.pointee.append(value ? 0xF5 : 0xF4)
    }

    @inline(__always)
    static func read(at offset: Int, in input: DecodingInput) throws(CBORError) -> (value: Bool, end: Int) {
        try input.bool(at: offset)
    }
}

extension String: PlainFieldValue {
    @inline(__always)
    static func write(_ value: String, to output: UnsafeMutablePointer<CBORBuffer.Storage>) {
        output.pointee.text(value)
    }

    @inline(__always)
    static func read(at offset: Int, in input: DecodingInput) throws(CBORError) -> (value: String, end: Int) {
        try input.string(at: offset)
    }
}

extension Double: PlainFieldValue {
    @inline(__always)
    static func write(_ value: Double, to output: UnsafeMutablePointer<CBORBuffer.Storage>) {
        output.pointee.floatingPoint(value)
    }

    @inline(__always)
    static func read(at offset: Int, in input: DecodingInput) throws(CBORError) -> (value: Double, end: Int) {
        try input.double(at: offset)
    }
}

extension Float: PlainFieldValue {
    @inline(__always)
    static func write(_ value: Float, to output: UnsafeMutablePointer<CBORBuffer.Storage>) {
        output.pointee.floatingPoint(Double(value))
    }

    @inline(__always)
    static func read(at offset: Int, in input: DecodingInput) throws(CBORError) -> (value: Float, end: Int) {
        try input.float(at: offset)
    }
}

extension PlainFieldValue where Self: FixedWidthInteger {
    @inline(__always)
    static func read(at offset: Int, in input: DecodingInput) throws(CBORError) -> (value: Self, end: Int) {
        try input.integer(Self.self, at: offset)
    }
}

extension PlainFieldValue where Self: FixedWidthInteger & SignedInteger {
    @inline(__always)
    static func write(_ value: Self, to output: UnsafeMutablePointer<CBORBuffer.Storage>) {
        output.pointee.integer(Int64(value))
    }
}

extension PlainFieldValue where Self: FixedWidthInteger & UnsignedInteger {
    @inline(__always)
    static func write(_ value: Self, to output: UnsafeMutablePointer<CBORBuffer.Storage>) {
        output.pointee.head(CBORMajorType.unsigned.rawValue << 5, UInt64(value))
    }
}

extension Int: PlainFieldValue {}
extension Int8: PlainFieldValue {}
extension Int16: PlainFieldValue {}
extension Int32: PlainFieldValue {}
extension Int64: PlainFieldValue {}
extension UInt: PlainFieldValue {}
extension UInt8: PlainFieldValue {}
extension UInt16: PlainFieldValue {}
extension UInt32: PlainFieldValue {}
extension UInt64: PlainFieldValue {}
