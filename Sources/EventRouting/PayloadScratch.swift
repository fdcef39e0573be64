import BridgeProtocol
import CBOR
import DomainEvents
import Locks

/// A thread's encoder, decoder and buffer, kept from one event to the next.
///
/// Encoding and decoding run user code, which may publish. A call that finds the encoder and the buffer in use makes a
/// temporary scratch. A decoder in use makes a temporary decoder itself.
final class PayloadScratch {
    let encoder = CBOREncoder()
    let decoder = CBORDecoder()
    let buffer = CBORBuffer(minimumCapacity: 1_024)
    @exclusivity(unchecked) private var isEncoding = false

    /// The size in bytes of the largest buffer that is kept for the next event.
    private static let keptBytes = 4 << 20

    private static var slot: ThreadSpecific<PayloadScratch> { ThreadSpecific(.payloadScratch) }

    /// The calling thread's scratch, which lives as long as the thread.
    static var current: Unmanaged<PayloadScratch> {
        if let existing = slot.unmanagedValue { return existing }
        let made = PayloadScratch()
        slot.value = made
        return .passUnretained(made)
    }

    /// A scratch in use for encoding, until ``giveBack()``.
    struct Lent {
        let scratch: Unmanaged<PayloadScratch>
        fileprivate let isTemporary: Bool

        /// What was encoded.
        var bytes: UnsafeRawBufferPointer { scratch._withUnsafeGuaranteedRef { $0.buffer.bytes } }

        /// Ends the use of the scratch and of ``bytes``; called once.
        func giveBack() {
            scratch._withUnsafeGuaranteedRef { $0.endEncoding() }
            if isTemporary { scratch.release() }
        }
    }

    /// Lends a scratch whose buffer is empty; the caller gives it back.
    static func lend() -> Lent {
        var scratch = current
        let isTemporary = scratch._withUnsafeGuaranteedRef { $0.isEncoding }
        if isTemporary { scratch = .passRetained(PayloadScratch()) }
        scratch._withUnsafeGuaranteedRef { $0.isEncoding = true }
        return Lent(scratch: scratch, isTemporary: isTemporary)
    }

    /// Lends a scratch with an encoded event; nil if the event cannot be encoded.
    static func lend<E: DomainEvent>(with event: E, encodedBy coder: Unmanaged<PayloadCoder<E>>) -> Lent? {
        let lent = lend()
        do {
            try lent.scratch._withUnsafeGuaranteedRef { scratch in
                try coder._withUnsafeGuaranteedRef {
                    try $0.encode(event, into: scratch.buffer, with: scratch.encoder)
                }
            }
            return lent
        } catch {
            lent.giveBack()
            return nil
        }
    }

    /// Does `body`; what this thread decodes meanwhile may keep the lender's memory, if it is read there.
    static func decoding<Result>(from lender: Unmanaged<LentBytes>, _ body: () throws -> Result) rethrows -> Result {
        let decoder = current._withUnsafeGuaranteedRef { $0.decoder }
        let outer = decoder.lender
        decoder.lender = lender.takeUnretainedValue()
        defer { decoder.lender = outer }
        return try body()
    }

    private func endEncoding() {
        buffer.removeAll(keepingCapacity: buffer.capacity <= Self.keptBytes)
        isEncoding = false
    }
}
