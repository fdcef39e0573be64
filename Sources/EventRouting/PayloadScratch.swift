import BridgeProtocol
import CBOR
import DomainEvents
import Locks

/// A thread's encoder, decoder and buffer, kept from one event to the next.
///
/// Encoding and decoding run user code, which may publish in its turn: whoever finds the scratch in use makes one for
/// the occasion.
final class PayloadScratch {
    private let encoder = CBOREncoder()
    private let decoder = CBORDecoder()
    private let buffer = CBORBuffer(minimumCapacity: 1_024)
    @exclusivity(unchecked) private var isEncoding = false
    @exclusivity(unchecked) private var isDecoding = false

    /// A buffer that one large event has made larger than this is not kept.
    private static let keptBytes = 4 << 20

    private static let slot = ThreadSpecific<PayloadScratch>()

    static var current: PayloadScratch {
        if let existing = slot.value { return existing }
        let made = PayloadScratch()
        slot.value = made
        return made
    }

    /// Encodes an event and calls `body` with its bytes, which are valid during the call only.
    func withEncoded<E: DomainEvent, R>(
        _ event: E,
        by coder: PayloadCoder<E>,
        _ body: (UnsafeRawBufferPointer) -> R
    ) throws -> R {
        guard !isEncoding else { return try PayloadScratch().withEncoded(event, by: coder, body) }
        isEncoding = true
        defer {
            buffer.removeAll(keepingCapacity: buffer.capacity <= Self.keptBytes)
            isEncoding = false
        }
        try coder.encode(event, into: buffer, with: encoder)
        return body(buffer.bytes)
    }

    func decode<E: DomainEvent>(_ payload: UnsafeRawBufferPointer, by coder: PayloadCoder<E>) throws(CBORError) -> E {
        guard !isDecoding else { return try coder.decode(payload, with: CBORDecoder()) }
        isDecoding = true
        defer { isDecoding = false }
        return try coder.decode(payload, with: decoder)
    }
}
