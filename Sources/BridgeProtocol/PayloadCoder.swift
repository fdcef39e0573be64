package import CBOR
package import DomainEvents

/// Makes payloads of the events of one type, and events of payloads: by their layout if they have one, else by way of
/// `Codable`.
///
/// Any thread may use it, each with coders and buffers of its own.
package final class PayloadCoder<E: DomainEvent>: Sendable {
    /// Owned by this object, so that its use counts no reference.
    private let layout: Unmanaged<LaidOutCoder<E>>?

    package init() {
        layout = (E.self as? any LaidOutEvent.Type).map { type in
            // It is `E` under another name.
            .passRetained(unsafeDowncast(PayloadCoder.layout(of: type), to: LaidOutCoder<E>.self))
        }
    }

    deinit { layout?.release() }

    private static func layout<L: LaidOutEvent>(of type: L.Type) -> AnyObject { LaidOutCoder(L.layout) }

    /// Appends an event's payload.
    package func encode(_ event: E, into buffer: CBORBuffer, with encoder: CBOREncoder) throws {
        if let layout {
            return try layout._withUnsafeGuaranteedRef { try $0.encode(event, into: buffer, with: encoder) }
        }
        try encoder.encode(event, into: buffer)
    }

    /// Makes an event of its payload.
    ///
    /// - Throws: `CBORError`.
    package func decode(_ payload: UnsafeRawBufferPointer, with decoder: CBORDecoder) throws -> E {
        if let layout {
            return try layout._withUnsafeGuaranteedRef { try $0.decode(from: payload, with: decoder) }
        }
        return try decoder.decode(E.self, from: payload)
    }

    /// What is wrong with the layout, as far as an event shows; nil if nothing is, or there is none.
    package func mismatch(for event: E) throws -> String? { try layout?.takeUnretainedValue().mismatch(for: event) }
}
