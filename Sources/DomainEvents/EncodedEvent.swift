import CBOR
import Locks

/// An encoded event on its way to its journal.
///
/// Each thread reuses one object from event to event. Encoding runs user code, which may publish: such a nested call
/// gets another object.
final class EncodedEvent: @unchecked Sendable {
    // Sendable: only the thread that publishes or receives the event uses this object.
    private let buffer = CBORBuffer()
    /// The event's payload; valid until ``keep()``.
    private(set) var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Why the event has no payload.
    private(set) var failure: (any Error)?

    private static let spare = ThreadSpecific<EncodedEvent>()
    /// A buffer that has grown beyond this is not kept.
    private static let keptBytes = 1 << 20

    /// Takes the bytes in which the event came, or encodes the event.
    static func make(of event: RawEvent, _ encode: (CBORBuffer) throws -> Void) -> EncodedEvent {
        let encoded = spare.value ?? EncodedEvent()
        spare.value = nil
        if let payload = event.payload {
            encoded.bytes = payload
            return encoded
        }
        do {
            try encode(encoded.buffer)
            encoded.bytes = encoded.buffer.bytes
        } catch {
            encoded.failure = error
        }
        return encoded
    }

    /// Keeps the object for the thread's next event.
    func keep() {
        bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        failure = nil
        buffer.removeAll(keepingCapacity: buffer.capacity <= Self.keptBytes)
        Self.spare.value = self
    }
}
