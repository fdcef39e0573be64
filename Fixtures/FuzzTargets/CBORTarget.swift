import CBOR
import JSONText

/// CBOR: skipping an item, reading it as a value and decoding it as a type agree about every input, and a value that
/// was read is the same after it was written and read again.
package final class CBORTarget: FuzzTarget {
    private let decoder = CBORDecoder()
    private let encoder = CBOREncoder()

    package init() {}

    package func run(_ input: UnsafeRawBufferPointer) throws {
        let read = Result { () throws(CBORError) in try CBORValue(decoding: input) }
        try checkSkipping(input, read)
        switch read {
        case .success(let value):
            try checkWriting(value)
            try JSONChecks.check(writing: value)
        case .failure(let error):
            try require((0...input.count).contains(error.offset), "\(error) lies outside \(input.count) bytes")
            try require(!error.description.isEmpty, "an error without a sentence")
        }
        try checkTyped(FuzzSample.self, input, read)
        try checkLayout(input, read)
        try checkDictionary(input, read)
    }

    // MARK: - Without a type

    private func checkSkipping(_ input: UnsafeRawBufferPointer, _ read: Result<CBORValue, CBORError>) throws {
        var reader = CBORReader(input)
        do throws(CBORError) {
            try reader.skipItem()
        } catch {
            guard case .failure(let other) = read else {
                throw BrokenInvariant(description: "read, not skipped: \(error)")
            }
            try require(error.code == other.code && error.offset == other.offset, "skipped: \(error) read: \(other)")
            return
        }
        switch read {
        case .success:
            try require(reader.isAtEnd, "read with \(reader.bytesLeft) bytes behind it")
        case .failure(let error):
            let expected = CBORError.Code.trailingBytes(count: reader.bytesLeft)
            try require(!reader.isAtEnd && error.code == expected, "skipped whole, but not read: \(error)")
            try require(error.offset == reader.position, "\(error), but the item ends at \(reader.position)")
        }
    }

    private func checkWriting(_ value: CBORValue) throws {
        let bytes = try value.encoded()
        let again = try CBORValue(decoding: bytes)
        try require(again == value, "written and read: \(again) instead of \(value)")
        try require(try again.encoded() == bytes, "written twice, and not the same")
    }

    // MARK: - With a type

    @discardableResult
    private func checkTyped<T: Codable>(
        _ type: T.Type,
        _ input: UnsafeRawBufferPointer,
        _ read: Result<CBORValue, CBORError>
    ) throws -> Result<T, CBORError> {
        let decoded = Result { () throws(CBORError) in try decoder.decode(type, from: input) }
        switch (read, decoded) {
        case (.failure(let expected), .failure(let found)):
            try require(expected == found, "as a value: \(expected) as \(type): \(found)")
        case (.failure(let error), .success):
            throw BrokenInvariant(description: "read as \(type), though \(error)")
        case (.success, .failure(let error)):
            try require((0...input.count).contains(error.offset), "\(error) lies outside \(input.count) bytes")
        case (.success, .success(let value)):
            try checkStability(value)
        }
        return decoded
    }

    /// A value that was written and read again is written as the same bytes.
    private func checkStability<T: Codable>(_ value: T) throws {
        let once: [UInt8]
        do {
            once = try encoder.encode(value)
        } catch let error as CBORError {
            // A number or text that was read as a date, UUID or decimal is written as a tag, which adds levels.
            guard case .depthExceeded = error.code else { throw error }
            return
        }
        let twice = try encoder.encode(try decoder.decode(T.self, from: once))
        try require(once == twice, "\(T.self) written as \(once), read, and written as \(twice)")
    }

    /// Reading by a layout gives the same as reading through `Codable`, for every input.
    private func checkLayout(_ input: UnsafeRawBufferPointer, _ read: Result<CBORValue, CBORError>) throws {
        let plain = try checkTyped(FuzzEvent.self, input, read)
        let laidOut = Result { () throws(CBORError) in try FuzzEvent.coder.decode(from: input, with: decoder) }
        switch (plain, laidOut) {
        case (.failure(let one), .failure(let other)):
            try require(one == other, "Codable: \(one) layout: \(other)")
        case (.success(let one), .success(let other)):
            guard let expected = try? encoder.encode(one) else { return }
            let buffer = CBORBuffer()
            try FuzzEvent.coder.encode(other, into: buffer, with: encoder)
            try require(buffer.copied() == expected, "by layout \(buffer.copied()), by Codable \(expected)")
        default:
            throw BrokenInvariant(description: "Codable: \(plain) layout: \(laidOut)")
        }
    }

    private func checkDictionary(_ input: UnsafeRawBufferPointer, _ read: Result<CBORValue, CBORError>) throws {
        guard let value = try? decoder.decode([String: [Int8?]].self, from: input) else { return }
        guard case .success = read else { throw BrokenInvariant(description: "a dictionary of what is no item") }
        let again = try decoder.decode([String: [Int8?]].self, from: try encoder.encode(value))
        try require(again == value, "the dictionary \(value) came back as \(again)")
    }
}
