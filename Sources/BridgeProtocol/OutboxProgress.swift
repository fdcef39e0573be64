import Synchronization

/// How far a living worker has got with its shared outbox, as the host reads it: two words of the head page, looked at
/// in place.
///
/// The numbers are the worker's word and no more than that. The worker writes them behind the frames that they speak
/// of, so that what they say is true whenever an honest worker is killed.
package struct OutboxProgress: @unchecked Sendable {
    // Sendable: the words are atomic, and the memory stays for as long as this value holds it.
    private let memory: any OutboxMemory
    private let base: UnsafeMutableRawPointer

    /// Nil if the memory is too small for a head page.
    ///
    /// - Parameter memory: memory that cannot shrink, whatever the worker does.
    package init?(_ memory: any OutboxMemory) {
        guard let base = memory.bytes.baseAddress, memory.bytes.count >= OutboxLayout.headBytes else { return nil }
        (self.memory, self.base) = (memory, base)
    }

    /// The newest event whose frame is whole: it outlives the worker.
    package var accepted: UntrustedNumber { load(OutboxLayout.Field.accepted) }

    /// The lengths of the frames of all events up to that one.
    package var acceptedBytes: UntrustedNumber { load(OutboxLayout.Field.acceptedBytes) }

    private func load(_ offset: Int) -> UntrustedNumber {
        UntrustedNumber((base + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .acquiring))
    }
}
