package import CBOR
package import DomainEvents

/// Encodes and decodes the events of one type: by their layout if they have one, else through `Codable`.
///
/// The payload of an untyped event is encoded already, and goes out as it is.
///
/// Any thread may use this object, each with encoders, decoders and buffers of its own.
package final class PayloadCoder<E: DomainEvent>: Sendable {
    /// The coder of a type that has a layout; owned unmanaged, so that using the coder changes no reference count.
    private let layout: Unmanaged<LaidOutCoder<E>>?
    private let isUntyped = E.self == UntypedEvent.self

    package init() {
        layout = (E.self as? any LaidOutEvent.Type).map { type in
            // `type` is `E`, cast to a protocol.
            .passRetained(unsafeDowncast(PayloadCoder.layout(of: type), to: LaidOutCoder<E>.self))
        }
    }

    deinit { layout?.release() }

    private static func layout<L: LaidOutEvent>(of type: L.Type) -> AnyObject { LaidOutCoder(L.layout) }

    package func encode(_ event: E, into buffer: CBORBuffer, with encoder: CBOREncoder) throws {
        if let layout {
            return try layout._withUnsafeGuaranteedRef { try $0.encode(event, into: buffer, with: encoder) }
        }
        if isUntyped, let event = event as? UntypedEvent { return buffer.append(event.payload) }
        try encoder.encode(event, into: buffer)
    }

    /// Makes an event from its payload.
    ///
    /// - Parameter isChecked: whether `CBORDecoder.isWhole` is known to be true of the payload, within the decoder's
    ///   limits.
    /// - Throws: `CBORError`.
    package func decode(
        _ payload: UnsafeRawBufferPointer,
        with decoder: CBORDecoder,
        isChecked: Bool = false
    ) throws -> E {
        if let layout {
            return try layout._withUnsafeGuaranteedRef { try $0.decode(from: payload, with: decoder) }
        }
        return try decoder.decode(E.self, from: payload, isChecked: isChecked)
    }

    /// Makes an event from a payload that a peer has sent, and has the event's type validate it.
    ///
    /// - Parameter name: the event's name, which an untyped event keeps.
    package func receive(
        _ payload: UnsafeRawBufferPointer,
        named name: @autoclosure () -> String,
        with decoder: CBORDecoder
    ) throws(UnreadablePayload) -> E {
        let event: E
        do {
            if let layout {
                event = try layout._withUnsafeGuaranteedRef { try $0.decode(from: payload, with: decoder) }
            } else if isUntyped {
                // `isUntyped` says that `E` is `UntypedEvent`.
                event = try unsafeBitCast(UntypedEvent.received(payload, name: name()), to: E.self)
            } else {
                event = try decoder.decode(E.self, from: payload)
            }
        } catch {
            throw UnreadablePayload(reason: .undecodable, text: CBORError.sentence(of: error))
        }
        do {
            try event.validate()
        } catch {
            throw UnreadablePayload(reason: .invalid, text: String(describing: error))
        }
        return event
    }

    /// What is wrong with the layout, as far as this event shows; nil if nothing is wrong or there is no layout.
    package func mismatch(for event: E) throws -> String? { try layout?.takeUnretainedValue().mismatch(for: event) }
}

/// Why a payload that a peer has sent makes no event.
package struct UnreadablePayload: Error {
    package let reason: Refusal.Reason
    package let text: String
}
