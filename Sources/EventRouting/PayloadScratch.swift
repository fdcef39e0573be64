import BridgeProtocol
import CBOR
import DomainEvents
import Locks

/// A thread's encoder, decoder and buffer, kept from one event to the next.
///
/// Encoding and decoding run user code, which may publish. A call that finds the encoder and the buffer in use makes a
/// temporary scratch. A decoder in use makes a temporary decoder itself.
final class PayloadScratch {
    private let encoder = CBOREncoder()
    let decoder = CBORDecoder()
    private let buffer = CBORBuffer(minimumCapacity: 1_024)
    @exclusivity(unchecked) private var isEncoding = false

    /// The size in bytes of the largest buffer that is kept for the next event.
    private static let keptBytes = 4 << 20

    private static let slot = ThreadSpecific<PayloadScratch>()

    /// The calling thread's scratch, which lives as long as the thread.
    static var current: Unmanaged<PayloadScratch> {
        if let existing = slot.unmanagedValue { return existing }
        let made = PayloadScratch()
        slot.value = made
        return .passUnretained(made)
    }

    /// An encoded event in a scratch, which is in use until ``giveBack()``.
    struct Encoded {
        let bytes: UnsafeRawBufferPointer
        fileprivate let scratch: Unmanaged<PayloadScratch>
        fileprivate let isTemporary: Bool

        /// Ends the use of ``bytes``; called once.
        func giveBack() {
            scratch._withUnsafeGuaranteedRef { $0.endEncoding() }
            if isTemporary { scratch.release() }
        }
    }

    /// Encodes an event; the caller gives back the bytes.
    static func encode<E: DomainEvent>(_ event: E, by coder: Unmanaged<PayloadCoder<E>>) throws -> Encoded {
        var scratch = current
        let isTemporary = scratch._withUnsafeGuaranteedRef { $0.isEncoding }
        if isTemporary { scratch = .passRetained(PayloadScratch()) }
        do {
            let bytes = try scratch._withUnsafeGuaranteedRef { scratch in
                scratch.isEncoding = true
                try coder._withUnsafeGuaranteedRef {
                    try $0.encode(event, into: scratch.buffer, with: scratch.encoder)
                }
                return scratch.buffer.bytes
            }
            return Encoded(bytes: bytes, scratch: scratch, isTemporary: isTemporary)
        } catch {
            scratch._withUnsafeGuaranteedRef { $0.endEncoding() }
            if isTemporary { scratch.release() }
            throw error
        }
    }

    private func endEncoding() {
        buffer.removeAll(keepingCapacity: buffer.capacity <= Self.keptBytes)
        isEncoding = false
    }
}
