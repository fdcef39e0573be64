import Synchronization

/// How far a living worker has got with its shared outbox: the host reads words of the head page in place.
///
/// The host cannot check the numbers. A worker writes them after the frames that they count, so the numbers of an
/// honest worker are true whenever it is killed.
///
/// The value does not keep the memory alive, so that reading counts no reference: the memory has to outlive the value.
package struct OutboxProgress: @unchecked Sendable, BitwiseCopyable {
    // Sendable: the words are atomic.
    private let base: UnsafeMutableRawPointer

    /// Reads the head page of `memory`; nil if the memory is too small for a head page.
    ///
    /// - Parameter memory: memory that cannot shrink, whatever the worker does.
    package init?(_ memory: any OutboxMemory) {
        guard let base = memory.bytes.baseAddress, memory.bytes.count >= OutboxLayout.headBytes else { return nil }
        self.base = base
    }

    /// Whether the worker keeps its outbox in this memory; if not, the other numbers say nothing.
    package var isUsed: Bool { load(OutboxLayout.Field.mark) == UntrustedNumber(OutboxLayout.mark) }

    /// The newest event whose frame is whole: that event outlives the worker.
    package var accepted: UntrustedNumber { load(OutboxLayout.Field.accepted) }

    /// The total length, in bytes, of the frames of all events up to ``accepted``.
    package var acceptedBytes: UntrustedNumber { load(OutboxLayout.Field.acceptedBytes) }

    /// The newest event whose frame is whole, read from memory that may shrink and is therefore not mapped.
    package static func accepted(in source: some OutboxSource) -> UntrustedNumber {
        var word: UInt64 = 0
        let count = withUnsafeMutableBytes(of: &word) { source.copy(at: OutboxLayout.Field.accepted, into: $0) }
        return UntrustedNumber(count == 8 ? word : 0)
    }

    /// How many heartbeats the worker has counted.
    package var heartbeats: UntrustedNumber { load(OutboxLayout.Field.heartbeats) }

    private func load(_ offset: Int) -> UntrustedNumber {
        UntrustedNumber((base + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .acquiring))
    }
}
