/// The host's copy of the head page of a shared outbox.
///
/// The numbers are not checked, and a living worker may change them while they are copied.
package struct OutboxState: Sendable {
    package let firstChunk: UntrustedNumber
    /// The newest event whose frame the worker began to write.
    package let begun: UntrustedNumber
    /// The newest event whose frame is whole.
    package let accepted: UntrustedNumber
    package let acceptedBytes: UntrustedNumber
    /// The event up to which the worker has seen all events settled; 0 if it does not say.
    package let settled: UntrustedNumber
    private let handlingBegun: UntrustedNumber
    private let handlingFinished: UntrustedNumber
    private let open: [UInt64]

    /// Copies the head page; nil if the memory is not used as an outbox: the worker then keeps its frames in its own
    /// memory.
    package init?(_ source: some OutboxSource) {
        self.init(
            page: [UInt64](unsafeUninitializedCapacity: OutboxLayout.headBytes / 8) { buffer, count in
                count = source.copy(at: 0, into: UnsafeMutableRawBufferPointer(buffer)) / 8
            }
        )
    }

    /// Takes what was copied of the head page; nil as for ``init(_:)``, or if that is not the whole page.
    package init?(page words: [UInt64]) {
        typealias Field = OutboxLayout.Field
        guard words.count == OutboxLayout.headBytes / 8, words[Field.mark / 8] == OutboxLayout.mark else { return nil }
        firstChunk = UntrustedNumber(words[Field.firstChunk / 8])
        begun = UntrustedNumber(words[Field.begun / 8])
        accepted = UntrustedNumber(words[Field.accepted / 8])
        acceptedBytes = UntrustedNumber(words[Field.acceptedBytes / 8])
        settled = UntrustedNumber(words[Field.settled / 8])
        handlingBegun = UntrustedNumber(words[Field.handlingBegun / 8])
        handlingFinished = UntrustedNumber(words[Field.handlingFinished / 8])
        open = Array(words[(Field.open / 8)...])
    }

    /// Whether the worker was writing a frame that never became whole.
    package var isTorn: Bool { begun > accepted }

    /// Whether the worker has seen every accepted event settled.
    package var isSettled: Bool { settled == accepted }

    /// The event whose inline handlers were running; nil if none were.
    package var handledNow: UntrustedNumber? { handlingBegun == handlingFinished ? nil : handlingBegun }

    /// Whether an event was open in the worker: its handlers had it, and not all of them had returned.
    ///
    /// The answer means something only for events that the host has sent and not seen acknowledged.
    package func isOpen(_ sequence: UInt64) -> Bool {
        let index = Int(sequence % OutboxLayout.openEvents)
        return open[index / 64] & (1 << UInt64(index % 64)) != 0
    }
}
