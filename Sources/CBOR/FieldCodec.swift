/// How the values of one type are written and read as fields of an event.
struct FieldCodec: @unchecked Sendable {
    // @unchecked: the functions below capture only types. If they were marked `@Sendable`, they could not do that.

    /// Writes the key and the value at an address; returns whether there is a value.
    let write:
        (
            _ value: UnsafeRawPointer, _ key: UnsafePointer<FieldKey>, _ writing: FieldWriting
        ) throws -> Bool
    /// Reads the value of a key into memory that holds none.
    let read:
        (
            _ reading: FieldReading, _ key: UnsafePointer<FieldKey>, _ target: UnsafeMutableRawPointer
        ) throws -> Void
    /// Puts the value of a missing field at `target`; nil if the field must not be missing.
    var readMissing: ((_ target: UnsafeMutableRawPointer) -> Void)?
    /// Destroys a value that has been read.
    let destroy: (_ value: UnsafeMutableRawPointer) -> Void
    /// How many levels a value can add to the depth of the event without a check by the session.
    let levels: Int
    /// Whether `write` uses the session; the session must then have been begun.
    var needsSession = false
    /// The type, if it is so common that the field table usually writes and reads it without calling the codec.
    var kind = Kind.other

    enum Kind {
        case integer64
        case text
        case other
    }
}

/// A key in the form in which it is written, and as text.
struct FieldKey: @unchecked Sendable {
    // @unchecked: the bytes are written before the first use and never again; the `FieldTable` owns them.
    let bytes: UnsafeRawPointer
    let size: Int
    let name: String
}

/// The buffer and the session with which a field is written.
struct FieldWriting: BitwiseCopyable {
    let output: UnsafeMutablePointer<CBORBuffer.Storage>
    let session: Unmanaged<EncodingSession>

    @inline(__always)
    func begin(_ key: UnsafePointer<FieldKey>) {
        let end = output.pointee.reserve(key.pointee.size &+ 16)
        if key.pointee.size < 32 {
            CBORBuffer.Storage.copyShort(key.pointee.bytes, key.pointee.size, to: end)
        } else {
            end.copyMemory(from: key.pointee.bytes, byteCount: key.pointee.size)
        }
        output.pointee.count &+= key.pointee.size
    }
}

/// The input, the cursor and the session with which a field is read.
struct FieldReading: BitwiseCopyable {
    let input: DecodingInput
    let cursor: UnsafeMutablePointer<MapCursor>
    let session: Unmanaged<DecodingSession>

    /// Whether this key comes next, in its usual spelling.
    @inline(__always)
    func isNext(_ key: UnsafePointer<FieldKey>) -> Bool {
        let position = cursor.pointee.position
        // A map of indefinite length has the count -1.
        return cursor.pointee.entry < cursor.pointee.count && input.count &- position > key.pointee.size
            && equalBytes(input.base + position, key.pointee.bytes, count: key.pointee.size)
    }

    /// The offset of a key's value; nil if the map has no such key.
    @inline(__always)
    func find(_ key: UnsafePointer<FieldKey>) throws(CBORError) -> Int? {
        if isNext(key) { return cursor.pointee.position &+ key.pointee.size }
        return try input.find(key.pointee.name, cursor)
    }

    @inline(__always)
    func value(of key: UnsafePointer<FieldKey>) throws(CBORError) -> Int {
        if let offset = try find(key) { return offset }
        throw CBORError(.missingKey(key.pointee.name), offset: cursor.pointee.map)
    }

    /// The offset of a key's value; nil if the key is missing or the value is null.
    @inline(__always)
    func present(_ key: UnsafePointer<FieldKey>) throws(CBORError) -> Int? {
        guard let offset = try find(key), !input.isNull(at: offset) else { return nil }
        return offset
    }

    /// Goes past a value whose end is not known yet.
    func advance(pastValueAt offset: Int) throws(CBORError) {
        input.advance(cursor, to: try input.end(ofItemAt: offset))
    }
}

/// A type whose values are written and read without the session.
protocol PlainFieldValue: Codable {
    static func write(_ value: Self, to output: UnsafeMutablePointer<CBORBuffer.Storage>)
    static func read(at offset: Int, in input: DecodingInput) throws(CBORError) -> (value: Self, end: Int)
}

extension FieldCodec {
    /// The codec for a type; every `Codable` type has one.
    static func codec<Value: Codable>(for type: Value.Type) -> FieldCodec {
        if let known = known[ObjectIdentifier(type)] { return known }
        if let optional = type as? any OptionalValue.Type { return optional.codec }
        return general(type)
    }

    private static let known: [ObjectIdentifier: FieldCodec] = {
        var codecs: [ObjectIdentifier: FieldCodec] = [:]
        func add<Value: PlainFieldValue>(_ type: Value.Type) {
            codecs[ObjectIdentifier(type)] = plain(type)
            codecs[ObjectIdentifier(Value?.self)] = plainOptional(type)
            codecs[ObjectIdentifier([Value].self)] = plainArray(type)
        }
        add(Bool.self)
        add(Double.self)
        add(Float.self)
        add(Int.self)
        add(Int8.self)
        add(Int16.self)
        add(Int32.self)
        add(Int64.self)
        add(String.self)
        add(UInt.self)
        add(UInt8.self)
        add(UInt16.self)
        add(UInt32.self)
        add(UInt64.self)
        codecs[ObjectIdentifier(Int64.self)]?.kind = .integer64
        if Int.bitWidth == Int64.bitWidth { codecs[ObjectIdentifier(Int.self)]?.kind = .integer64 }
        codecs[ObjectIdentifier(String.self)]?.kind = .text
        return codecs
    }()

    // MARK: Plain types

    @inline(__always)
    private static func plain<Value: PlainFieldValue>(_ type: Value.Type) -> FieldCodec {
        FieldCodec(
            write: { value, key, writing in
                writing.begin(key)
                Value.write(value.assumingMemoryBound(to: Value.self).pointee, to: writing.output)
                return true
            },
            read: { reading, key, target in
                let read = try Value.read(at: try reading.value(of: key), in: reading.input)
                reading.input.advance(reading.cursor, to: read.end)
                target.initializeMemory(as: Value.self, to: read.value)
            },
            destroy: { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) },
            levels: 0
        )
    }

    @inline(__always)
    private static func plainOptional<Value: PlainFieldValue>(_ type: Value.Type) -> FieldCodec {
        FieldCodec(
            write: { value, key, writing in
                guard let value = value.assumingMemoryBound(to: Value?.self).pointee else { return false }
                writing.begin(key)
                Value.write(value, to: writing.output)
                return true
            },
            read: { reading, key, target in
                guard let offset = try reading.present(key) else {
                    target.initializeMemory(as: Value?.self, to: nil)
                    return
                }
                let read = try Value.read(at: offset, in: reading.input)
                reading.input.advance(reading.cursor, to: read.end)
                target.initializeMemory(as: Value?.self, to: read.value)
            },
            readMissing: { $0.initializeMemory(as: Value?.self, to: nil) },
            destroy: { $0.assumingMemoryBound(to: Value?.self).deinitialize(count: 1) },
            levels: 0
        )
    }

    @inline(__always)
    private static func plainArray<Value: PlainFieldValue>(_ type: Value.Type) -> FieldCodec {
        FieldCodec(
            write: { value, key, writing in
                let elements = value.assumingMemoryBound(to: [Value].self).pointee
                writing.begin(key)
                writing.output.pointee.head(CBORMajorType.array.rawValue << 5, UInt64(elements.count))
                for element in elements { Value.write(element, to: writing.output) }
                return true
            },
            read: { reading, key, target in
                let input = reading.input
                let start = try input.skippingSelfDescription(at: try reading.value(of: key))
                var reader = input.reader(at: start)
                let count = try reader.readArrayHead()
                var position = reader.position
                var elements: [Value] = []
                // `count` was checked against the bytes left, but elements take more room in memory, so reserve few.
                if let count { elements.reserveCapacity(min(count, 1_024)) }
                while true {
                    if let count {
                        if elements.count == count { break }
                    } else if position >= input.count {
                        throw CBORError(.unexpectedEnd, offset: position)
                    } else if input.bytes[position] == CBORHead.breakByte {
                        position += 1
                        break
                    }
                    let read = try Value.read(at: position, in: input)
                    elements.append(read.value)
                    position = read.end
                }
                input.advance(reading.cursor, to: position)
                target.initializeMemory(as: [Value].self, to: elements)
            },
            destroy: { $0.assumingMemoryBound(to: [Value].self).deinitialize(count: 1) },
            levels: 1
        )
    }

    // MARK: Everything else

    /// The codec for values that are coded by their own `Codable` conformance, or that have a special form.
    static func general<Value: Codable>(_ type: Value.Type) -> FieldCodec {
        FieldCodec(
            write: { value, key, writing in
                writing.begin(key)
                try writing.session.takeUnretainedValue().encode(
                    value.assumingMemoryBound(to: Value.self).pointee,
                    inside: 0
                )
                return true
            },
            read: { reading, key, target in
                let offset = try reading.value(of: key)
                let value = try reading.session.takeUnretainedValue().decode(type, at: offset)
                target.initializeMemory(as: Value.self, to: value)
                // The value has been decoded, so passing over it finds no further mistake.
                try? reading.advance(pastValueAt: offset)
            },
            destroy: { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) },
            levels: 0,
            needsSession: true
        )
    }

    fileprivate static func generalOptional<Value: Codable>(_ type: Value.Type) -> FieldCodec {
        FieldCodec(
            write: { value, key, writing in
                guard let value = value.assumingMemoryBound(to: Value?.self).pointee else { return false }
                writing.begin(key)
                try writing.session.takeUnretainedValue().encode(value, inside: 0)
                return true
            },
            read: { reading, key, target in
                guard let offset = try reading.present(key) else {
                    target.initializeMemory(as: Value?.self, to: nil)
                    return
                }
                let value = try reading.session.takeUnretainedValue().decode(type, at: offset)
                target.initializeMemory(as: Value?.self, to: value)
                try? reading.advance(pastValueAt: offset)
            },
            readMissing: { $0.initializeMemory(as: Value?.self, to: nil) },
            destroy: { $0.assumingMemoryBound(to: Value?.self).deinitialize(count: 1) },
            levels: 0,
            needsSession: true
        )
    }
}

/// An optional of any `Codable` type; a field whose value is nil is not written.
private protocol OptionalValue {
    static var codec: FieldCodec { get }
}

extension Optional: OptionalValue where Wrapped: Codable {
    fileprivate static var codec: FieldCodec { FieldCodec.generalOptional(Wrapped.self) }
}
