/// Checking a layout against `Codable`.
extension LaidOutCoder {
    /// A mistake in the layout, as far as this event shows it; nil if the event shows none.
    ///
    /// For tests: two events show most mistakes, one with every field filled in and one without the fields that may be
    /// nil.
    package func mismatch(for event: Event) throws -> String? {
        let encoder = CBOREncoder()
        let buffer = CBORBuffer()
        let expected = try encoder.encode(event)
        try encode(event, into: buffer, with: encoder)
        if buffer.copied() != expected {
            return "The layout of \(Event.self) writes "
                + LaidOutCoder.difference(try CBORValue(decoding: buffer.bytes), try CBORValue(decoding: expected))
        }
        let read = try encoder.encode(try CBORDecoder().decode(Event.self, from: expected))
        let made = try encoder.encode(try decode(from: expected, with: CBORDecoder()))
        if made != read {
            return "The layout of \(Event.self) makes another event, which has "
                + LaidOutCoder.difference(try CBORValue(decoding: made), try CBORValue(decoding: read))
        }
        return nil
    }

    private static func difference(_ found: CBORValue, _ expected: CBORValue) -> String {
        guard case .map(let found) = found, case .map(let expected) = expected else {
            return "a map where Codable has something else"
        }
        for (one, other) in zip(found, expected) where one != other {
            guard one.key == other.key else { return "the field \(name(one)) where Codable has \(name(other))" }
            return "the field \(name(one)) differently from Codable"
        }
        return "\(found.count) fields where Codable has \(expected.count)"
    }

    private static func name(_ entry: CBORValue.Entry) -> String {
        if case .text(let name) = entry.key { "\"\(name)\"" } else { "\(entry.key)" }
    }
}
