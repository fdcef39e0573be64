import BridgeProtocol
import CBOR
import DomainEvents
import Locks

/// A thread's encoder, decoder and buffer, kept from one event to the next.
///
/// Encoding and decoding run user code, which may publish. A call that finds the scratch in use makes a temporary
/// scratch.
final class PayloadScratch {
    private let encoder = CBOREncoder()
    private let decoder = CBORDecoder()
    private let buffer = CBORBuffer(minimumCapacity: 1_024)
    @exclusivity(unchecked) private var isEncoding = false
    @exclusivity(unchecked) private var isDecoding = false

    /// The size in bytes of the largest buffer that is kept for the next event.
    private static let keptBytes = 4 << 20

    private static let slot = ThreadSpecific<PayloadScratch>()

    /// The calling thread's scratch, which lives as long as the thread.
    private static var current: Unmanaged<PayloadScratch> {
        if let existing = slot.unmanagedValue { return existing }
        let made = PayloadScratch()
        slot.value = made
        return .passUnretained(made)
    }

    /// Encodes an event and calls `body` with its bytes, which are valid only during the call.
    static func withEncoded<E: DomainEvent, R>(
        _ event: E,
        by coder: PayloadCoder<E>,
        _ body: (UnsafeRawBufferPointer) -> R
    ) throws -> R {
        try current._withUnsafeGuaranteedRef { try $0.withEncoded(event, by: coder, body) }
    }

    /// Decodes an event from its payload.
    ///
    /// - Throws: `CBORError`.
    static func decode<E: DomainEvent>(_ payload: UnsafeRawBufferPointer, by coder: PayloadCoder<E>) throws -> E {
        try current._withUnsafeGuaranteedRef { try $0.decode(payload, by: coder) }
    }

    private func withEncoded<E: DomainEvent, R>(
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

    private func decode<E: DomainEvent>(_ payload: UnsafeRawBufferPointer, by coder: PayloadCoder<E>) throws -> E {
        guard !isDecoding else { return try coder.decode(payload, with: CBORDecoder()) }
        isDecoding = true
        defer { isDecoding = false }
        return try coder.decode(payload, with: decoder)
    }
}
