/// Reading the plain types at an offset; each returns the value and where it ends.
extension DecodingSession {
    @inline(__always)
    func isNull(at offset: Int) -> Bool {
        offset < bytes.count && (bytes[offset] == 0xF6 || bytes[offset] == 0xF7)
    }

    @inline(__always)
    func bool(at offset: Int) throws(CBORError) -> (value: Bool, end: Int) {
        var reader = reader(at: try skippingSelfDescription(at: offset))
        return (try reader.readBool(), reader.position)
    }

    func head(at offset: Int) throws(CBORError) -> (head: CBORHead, end: Int) {
        var reader = reader(at: try skippingSelfDescription(at: offset))
        return (try reader.readHead(), reader.position)
    }

    @inline(__always)
    func integer<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) throws(CBORError) -> (value: T, end: Int) {
        let read = try head(at: offset)
        if let value = read.head.integer(type) { return (value, read.end) }
        throw integerRefusal(type, at: offset)
    }

    /// Why there is no integer of this type at an offset.
    @inline(never)
    func integerRefusal(_ type: Any.Type, at offset: Int) -> CBORError {
        var reader = reader(at: offset)
        guard let head = try? head(at: offset).head else { return reader.failure(.unexpectedEnd) }
        switch head.majorType {
        case .unsigned: return reader.outOfRange("\(head.argument)", type, at: offset)
        case .negative: return reader.outOfRange(CBORHead.negativeDescription(head.argument), type, at: offset)
        default: return reader.mismatch("an integer (\(type))", at: offset)
        }
    }

    /// Text, with or without a tag that says what the text means.
    @inline(__always)
    func string(at offset: Int) throws(CBORError) -> (value: String, end: Int) {
        var reader = reader(at: offset)
        if reader.nextMajorType == .text {
            return (try reader.readCheckedText(), reader.position)
        }
        return try taggedString(at: offset)
    }

    @inline(never)
    private func taggedString(at offset: Int) throws(CBORError) -> (value: String, end: Int) {
        var reader = reader(at: offset)
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
