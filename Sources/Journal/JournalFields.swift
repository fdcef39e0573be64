import CBOR

/// The fields of a recorded event, for a ``JournalUpcaster``.
///
/// The names are those of the event's coding keys. To change a part of a field's value, read the field as one of your
/// types, and set the field to the changed value.
public struct JournalFields: Sendable {
    private(set) var entries: [CBORValue.Entry]

    init(_ value: CBORValue) throws(JournalError) {
        guard case .map(let entries) = value else {
            throw JournalError(.undecodable, "the event has no fields: it is a single value or a list")
        }
        self.entries = entries
    }

    var value: CBORValue { .map(entries) }

    /// The names of the fields, in the record's order.
    public var names: [String] {
        entries.compactMap { entry in if case .text(let name) = entry.key { name } else { nil } }
    }

    /// A field's value; nil if there is no such field, or it is null.
    ///
    /// - Throws: ``JournalError`` with the code `undecodable` if the field does not decode as the type.
    public func value<Value: Decodable>(of field: String, as type: Value.Type = Value.self) throws -> Value? {
        guard let found = entries.first(where: { $0.key == .text(field) })?.value, found != .null else { return nil }
        do {
            return try CBORDecoder().decode(type, from: try found.encoded())
        } catch {
            throw JournalError(.undecodable, "the field \(field): \(CBORError.sentence(of: error))")
        }
    }

    /// Sets a field, whether it is there already or not.
    ///
    /// - Throws: ``JournalError`` with the code `undecodable` if the value cannot be encoded.
    public mutating func set<Value: Encodable>(_ field: String, to value: Value) throws {
        let encoded: CBORValue
        do {
            encoded = try CBORValue(decoding: try CBOREncoder().encode(value))
        } catch {
            throw JournalError(.undecodable, "the field \(field): \(CBORError.sentence(of: error))")
        }
        put(field, encoded)
    }

    /// Removes a field; a missing field is no error.
    public mutating func remove(_ field: String) { entries.removeAll { $0.key == .text(field) } }

    /// Renames a field; a field that has the new name already is replaced, and a missing field is no error.
    public mutating func rename(_ field: String, to name: String) {
        guard let found = entries.first(where: { $0.key == .text(field) }) else { return }
        remove(field)
        put(name, found.value)
    }

    private mutating func put(_ field: String, _ value: CBORValue) {
        if let index = entries.firstIndex(where: { $0.key == .text(field) }) {
            entries[index].value = value
        } else {
            entries.append(CBORValue.Entry(key: .text(field), value: value))
        }
    }
}
