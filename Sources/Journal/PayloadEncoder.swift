import BridgeProtocol
import CBOR
import DomainEvents
import Locks

/// A thread's encoder, kept from one event to the next.
///
/// Encoding runs user code, which may publish. Such a nested call makes an encoder of its own.
final class PayloadEncoder {
    private let encoder = CBOREncoder()
    @exclusivity(unchecked) private var isInUse = false

    private static var slot: ThreadSpecific<PayloadEncoder> { ThreadSpecific(.payloadEncoder) }

    /// The calling thread's encoder, which lives as long as the thread.
    private static var current: Unmanaged<PayloadEncoder> {
        if let existing = slot.unmanagedValue { return existing }
        let made = PayloadEncoder()
        slot.value = made
        return .passUnretained(made)
    }

    static func encode<E: DomainEvent>(_ event: E, into buffer: CBORBuffer, by coder: PayloadCoder<E>) throws {
        try current._withUnsafeGuaranteedRef { own in
            if own.isInUse { return try coder.encode(event, into: buffer, with: CBOREncoder()) }
            own.isInUse = true
            defer { own.isInUse = false }
            try coder.encode(event, into: buffer, with: own.encoder)
        }
    }
}
