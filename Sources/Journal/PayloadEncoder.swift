import BridgeProtocol
import CBOR
import DomainEvents
import Locks

/// A thread's encoder, kept from one event to the next.
///
/// Encoding runs user code, which may publish. Such a nested call makes an encoder of its own.
final class PayloadEncoder {
    private let encoder = CBOREncoder()
    private var isInUse = false

    private static let slot = ThreadSpecific<PayloadEncoder>()

    static func encode<E: DomainEvent>(_ event: E, into buffer: CBORBuffer, by coder: PayloadCoder<E>) throws {
        if slot.value == nil { slot.value = PayloadEncoder() }
        let own = slot.value.flatMap { $0.isInUse ? nil : $0 } ?? PayloadEncoder()
        own.isInUse = true
        defer { own.isInUse = false }
        try coder.encode(event, into: buffer, with: own.encoder)
    }
}
