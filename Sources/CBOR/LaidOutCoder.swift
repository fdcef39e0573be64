/// Writes and reads the events of one type by their layout.
///
/// Bytes, values and errors are the same as through `Codable`, except that the layout's initializer makes the events.
///
/// Each type has one coder. Any thread may use it, with encoders, decoders and buffers of its own.
package final class LaidOutCoder<Event: Codable>: Sendable {
    private let fields: FieldTable
    private let argumentBytes: Int
    private let argumentAlignment: Int
    private let make: @Sendable (_ arguments: UnsafeMutableRawPointer) throws -> Event

    /// A field: its key, its place in an event, its place among the arguments that make an event, and its type.
    package struct Field {
        let name: String
        let offset: Int
        let argument: Int
        let type: any (Codable & Sendable).Type

        package init(name: String, offset: Int, argument: Int, type: any (Codable & Sendable).Type) {
            self.name = name
            self.offset = offset
            self.argument = argument
            self.type = type
        }
    }

    /// - Parameters:
    ///   - argumentBytes: How much memory the arguments of `make` take.
    ///   - make: Makes an event of the arguments, and moves them out of their memory, even when it throws.
    package init(
        _ fields: [Field],
        argumentBytes: Int,
        argumentAlignment: Int,
        make: @escaping @Sendable (_ arguments: UnsafeMutableRawPointer) throws -> Event
    ) {
        self.argumentBytes = argumentBytes
        self.argumentAlignment = argumentAlignment
        self.make = make
        self.fields = FieldTable(
            fields.map { field in
                FieldTable.Entry(
                    name: field.name,
                    offset: field.offset,
                    argument: field.argument,
                    codec: FieldCodec.codec(for: field.type)
                )
            }
        )
    }

    /// Appends the event; the encoder is for fields that only `Codable` can write, and for errors.
    package func encode(_ event: Event, into buffer: CBORBuffer, with encoder: CBOREncoder) throws {
        let isWritten = withUnsafePointer(to: event) { fields.write($0, into: buffer, with: encoder.session) }
        // If the fields were not written, `Codable` writes the event, or throws the error that says what is wrong.
        if !isWritten { try encoder.encode(event, into: buffer) }
    }

    /// Reads the one event that the bytes hold.
    package func decode(
        from bytes: UnsafeRawBufferPointer,
        with decoder: CBORDecoder
    ) throws(CBORError) -> Event {
        guard !decoder.session.isBusy else { return try decode(from: bytes, with: CBORDecoder(limits: decoder.limits)) }
        decoder.session.begin(reading: bytes)
        defer { decoder.session.end() }
        do {
            let arguments = decoder.session.arguments(argumentBytes, alignment: argumentAlignment)
            if !fields.readExactly(into: arguments, in: decoder.session) {
                var reader = CBORReader(bytes, limits: decoder.limits)
                try reader.skipWholeInput()
                try fields.read(into: arguments, in: decoder.session)
            }
            return try make(arguments)
        } catch {
            throw decoder.described(error, bytes)
        }
    }

    package func decode(from bytes: [UInt8], with decoder: CBORDecoder) throws(CBORError) -> Event {
        let result: Result<Event, CBORError> = bytes.withUnsafeBytes { raw in
            do throws(CBORError) {
                return .success(try decode(from: raw, with: decoder))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
