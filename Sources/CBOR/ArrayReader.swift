/// An array being read.
struct ArrayReader: UnkeyedDecodingContainer {
    private let session: DecodingSession
    private let head: Int
    /// The number of elements; -1 for indefinite length.
    private let declaredCount: Int
    private var position: Int
    private(set) var currentIndex = 0

    init(session: DecodingSession, at offset: Int) throws(CBORError) {
        let offset = try session.input.skippingSelfDescription(at: offset)
        var reader = session.input.reader(at: offset)
        self.session = session
        head = offset
        declaredCount = try reader.readArrayHead() ?? -1
        position = reader.position
    }

    var codingPath: [any CodingKey] { session.codingPath(to: head) }

    var count: Int? { declaredCount >= 0 ? declaredCount : nil }

    var isAtEnd: Bool {
        if declaredCount >= 0 { return currentIndex >= declaredCount }
        return position >= session.input.bytes.count || session.input.bytes[position] == CBORHead.breakByte
    }

    mutating func decodeNil() throws -> Bool {
        guard session.input.isNull(at: try element()) else { return false }
        advance(to: position &+ 1)
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { finish(try session.input.bool(at: try element())) }
    mutating func decode(_ type: String.Type) throws -> String { finish(try session.input.string(at: try element())) }
    mutating func decode(_ type: Double.Type) throws -> Double { finish(try session.input.double(at: try element())) }
    mutating func decode(_ type: Float.Type) throws -> Float { finish(try session.input.float(at: try element())) }
    mutating func decode(_ type: Int.Type) throws -> Int { try integer() }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let offset = try element()
        if PlainType.isPlain(type) {
            var end = offset
            let value = try PlainType.decode(type, at: &end, in: session.input)
            advance(to: end)
            return value
        }
        let value = try session.decode(type, at: offset)
        advance(to: try session.input.end(ofItemAt: offset))
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        session.container(keyedBy: type, of: try session.input.map(at: try takeElement()))
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try ArrayReader(session: session, at: try takeElement())
    }

    mutating func superDecoder() throws -> any Decoder {
        ValueDecoder(session: session, offset: try takeElement())
    }

    private mutating func integer<T: FixedWidthInteger>() throws(CBORError) -> T {
        finish(try session.input.integer(T.self, at: try element()))
    }

    @inline(__always)
    private func element() throws(CBORError) -> Int {
        guard !isAtEnd else { throw CBORError(.missingElement(index: currentIndex), offset: head) }
        return position
    }

    private mutating func takeElement() throws(CBORError) -> Int {
        let offset = try element()
        advance(to: try session.input.end(ofItemAt: offset))
        return offset
    }

    @inline(__always)
    private mutating func finish<T>(_ read: (value: T, end: Int)) -> T {
        advance(to: read.end)
        return read.value
    }

    @inline(__always)
    private mutating func advance(to end: Int) {
        position = end
        currentIndex &+= 1
    }
}
