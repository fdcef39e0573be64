/// Reading the plain types at an offset; a function that returns a value also returns where the value ends.
extension DecodingInput {
    @inline(__always)
    func isNull(at offset: Int) -> Bool {
        offset < count && base.load(fromByteOffset: offset, as: UInt8.self) | 1 == 0xF7
    }

    @inline(__always)
    func bool(at offset: Int) throws(CBORError) -> (value: Bool, end: Int) {
        var reader = reader(at: try skippingSelfDescription(at: offset))
        return (try reader.readBool(), reader.position)
    }

    /// Reads what should be an integer.
    @inline(__always)
    func integerRead(at offset: Int) throws(CBORError) -> IntegerRead {
        let left = count &- offset
        guard left > 0 else { return try unusualInteger(at: offset) }
        let initialByte = base.load(fromByteOffset: offset, as: UInt8.self)
        let additional = initialByte & 0x1F
        guard initialByte < 0x40, additional < 28 else { return try unusualInteger(at: offset) }
        let sign = initialByte & 0x20 == 0 ? IntegerRead.Sign.positive : .negative
        if additional < 24 {
            return IntegerRead(argument: UInt64(additional), sign: sign, offset: offset, end: offset &+ 1)
        }
        let size = 1 << Int(additional & 3)
        guard left > size else { return try unusualInteger(at: offset) }
        let argument: UInt64
        switch size {
        case 1: argument = UInt64(base.load(fromByteOffset: offset &+ 1, as: UInt8.self))
        case 2: argument = UInt64(load(UInt16.self, at: offset &+ 1))
        case 4: argument = UInt64(load(UInt32.self, at: offset &+ 1))
        default: argument = load(UInt64.self, at: offset &+ 1)
        }
        return IntegerRead(argument: argument, sign: sign, offset: offset, end: offset &+ 1 &+ size)
    }

    @inline(__always)
    private func load<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, at offset: Int) -> T {
        T(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: type))
    }

    @inline(never)
    private func unusualInteger(at offset: Int) throws(CBORError) -> IntegerRead {
        var reader = reader(at: try skippingSelfDescription(at: offset))
        let head = try reader.readHead()
        let sign: IntegerRead.Sign =
            switch head.majorType {
            case .unsigned: .positive
            case .negative: .negative
            default: .none
            }
        return IntegerRead(argument: head.argument, sign: sign, offset: offset, end: reader.position)
    }

    @inline(__always)
    func integer<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) throws(CBORError) -> (value: T, end: Int) {
        let read = try integerRead(at: offset)
        return (try read.value(in: self), read.end)
    }

    /// The error that says why there is no integer of this type at an offset.
    @inline(never)
    func integerRefusal(_ type: Any.Type, at offset: Int) -> CBORError {
        var reader = reader(at: offset)
        do throws(CBORError) { reader.position = try skippingSelfDescription(at: offset) } catch { return error }
        guard let head = try? reader.readHead() else { return reader.failure(.unexpectedEnd) }
        switch head.majorType {
        case .unsigned: return reader.outOfRange("\(head.argument)", type, at: offset)
        case .negative: return reader.outOfRange(CBORHead.negativeDescription(head.argument), type, at: offset)
        default: return reader.mismatch("an integer (\(type))", at: offset)
        }
    }

    /// Reads text, with or without tags that say what the text means.
    @inline(__always)
    func string(at offset: Int) throws(CBORError) -> (value: String, end: Int) {
        let left = count &- offset
        if left > 1 {
            var start = offset &+ 1
            var size = Int(base.load(fromByteOffset: offset, as: UInt8.self)) &- 0x60
            if size == 24 {
                size = Int(base.load(fromByteOffset: start, as: UInt8.self))
                start &+= 1
                if size <= count &- start { return (string(at: start, size: size), start &+ size) }
            } else if size >= 0, size < 24, size < left {
                return (string(at: start, size: size), start &+ size)
            }
        }
        return try unusualString(at: offset)
    }

    @inline(__always)
    private func string(at start: Int, size: Int) -> String {
        String(copying: UnsafeRawBufferPointer(start: base + start, count: size))
    }

    @inline(never)
    private func unusualString(at offset: Int) throws(CBORError) -> (value: String, end: Int) {
        var reader = reader(at: offset)
        if reader.nextMajorType == .text { return (try reader.readCheckedText(), reader.position) }
        while reader.nextMajorType == .tag { _ = try reader.readTag() }
        guard reader.nextMajorType == .text else { throw reader.mismatch("a text string", at: offset) }
        return (try reader.readText(), reader.position)
    }

    func double(at offset: Int) throws(CBORError) -> (value: Double, end: Int) {
        let start = try skippingSelfDescription(at: offset)
        var reader = reader(at: start)
        let head = try reader.readHead()
        if let value = head.floatingPoint { return (value, reader.position) }
        return (try exact(head, &reader, start), reader.position)
    }

    func float(at offset: Int) throws(CBORError) -> (value: Float, end: Int) {
        let start = try skippingSelfDescription(at: offset)
        var reader = reader(at: start)
        let head = try reader.readHead()
        guard let value = head.floatingPoint else { return (try exact(head, &reader, start), reader.position) }
        let narrowed = Float(value)
        guard value.isNaN || Double(narrowed) == value else {
            throw reader.outOfRange("\(value)", Float.self, at: start)
        }
        return (narrowed, reader.position)
    }

    /// An integer as a float that holds it exactly.
    private func exact<T: BinaryFloatingPoint>(
        _ head: CBORHead,
        _ reader: inout CBORReader,
        _ start: Int
    ) throws(CBORError) -> T {
        switch head.majorType {
        case .unsigned:
            if let value = T(exactly: head.argument) { return value }
            throw reader.outOfRange("\(head.argument)", T.self, at: start)
        case .negative:
            let (magnitude, overflow) = head.argument.addingReportingOverflow(1)
            if overflow { return T(sign: .minus, exponent: 64, significand: 1) }
            if let value = T(exactly: magnitude) { return -value }
            throw reader.outOfRange(CBORHead.negativeDescription(head.argument), T.self, at: start)
        default:
            throw reader.mismatch("a number (\(T.self))", at: start)
        }
    }
}

/// An integer as it was read from the bytes, before it is converted to a type.
struct IntegerRead: BitwiseCopyable {
    /// The number itself, or its complement if it is negative.
    let argument: UInt64
    let sign: Sign
    /// Where the integer starts and ends.
    let offset: Int
    let end: Int

    enum Sign: UInt8 {
        case positive
        case negative
        /// The item is something other than an integer.
        case none
    }

    @inline(__always)
    var isInteger: Bool { sign != .none }

    /// The number as this type; throws if the type cannot hold it, or if the item is not an integer.
    @inline(__always)
    func value<T: FixedWidthInteger>(in input: DecodingInput) throws(CBORError) -> T {
        switch sign {
        case .positive:
            if let value = T(exactly: argument) { return value }
        case .negative:
            if argument <= UInt64(Int64.max), let value = T(exactly: ~Int64(bitPattern: argument)) { return value }
        case .none:
            break
        }
        throw input.integerRefusal(T.self, at: offset)
    }
}
