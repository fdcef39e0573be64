import CBOR
import Locks

/// An encoded event on its way to a journal.
///
/// Each thread reuses one object from event to event. Encoding runs user code, which may publish: such a nested call
/// gets another object.
final class EncodedEvent: @unchecked Sendable {
    // Sendable: only the thread that publishes or receives the event uses this object.
    private let buffer = CBORBuffer()
    /// The event's payload; valid until ``keep()``.
    @exclusivity(unchecked) private(set) var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Why the event has no payload; nil if it has one.
    @exclusivity(unchecked) private(set) var failure: (any Error)?
    @exclusivity(unchecked) private var isInUse = false

    private static var kept: ThreadSpecific<EncodedEvent> { ThreadSpecific(.encodedEvent) }
    /// A buffer that has grown beyond this is not kept.
    private static let keptBytes = 1 << 20

    /// Takes the bytes in which the event came, or encodes the event.
    static func make(of event: RawEvent, _ encode: (CBORBuffer) throws -> Void) -> EncodedEvent {
        let encoded = unused
        encoded.isInUse = true
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

    /// The thread's object; a new one in its place, if that object is in use or its event went to no journal after all.
    private static var unused: EncodedEvent {
        if let kept = kept.unmanagedValue?.takeUnretainedValue(), !kept.isInUse { return kept }
        let made = EncodedEvent()
        kept.value = made
        return made
    }

    /// Gives the object back for the thread's next event.
    func keep() {
        bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        failure = nil
        buffer.removeAll(keepingCapacity: buffer.capacity <= Self.keptBytes)
        isInUse = false
    }
}
