import BridgeProtocol
import CBOR
import DomainEvents
import Locks

/// A thread's encoder and buffer, kept from one event to the next.
///
/// Encoding runs user code, which may publish. Such a nested call makes an encoder and a buffer of its own.
final class PayloadEncoder {
    private let encoder = CBOREncoder()
    private let buffer = CBORBuffer()
    private var isInUse = false

    /// A buffer that has grown beyond this is not kept.
    private static let keptBytes = 1 << 20

    private static let slot = ThreadSpecific<PayloadEncoder>()

    static func encode<E: DomainEvent>(_ event: E, by coder: PayloadCoder<E>) throws -> [UInt8] {
        if slot.value == nil { slot.value = PayloadEncoder() }
        let own = slot.value.flatMap { $0.isInUse ? nil : $0 } ?? PayloadEncoder()
        own.isInUse = true
        defer {
            own.buffer.removeAll(keepingCapacity: own.buffer.capacity <= keptBytes)
            own.isInUse = false
        }
        try coder.encode(event, into: own.buffer, with: own.encoder)
        return own.buffer.copied()
    }
}
