import Synchronization

/// The head page of a shared outbox, as the worker writes it.
///
/// Each store is ordered after the stores before it, so that the page is true whenever the worker is killed.
package struct OutboxHead: @unchecked Sendable {
    // Sendable: the words are atomic. The outbox keeps the page, and no user of the page outlives the outbox.
    private let base: UnsafeMutableRawPointer

    init?(_ memory: any OutboxMemory) {
        guard let base = memory.bytes.baseAddress, memory.bytes.count >= OutboxLayout.headBytes else { return nil }
        self.base = base
        for offset in stride(from: 0, to: OutboxLayout.headBytes, by: 8) { store(0, at: offset) }
        store(OutboxLayout.mark, at: OutboxLayout.Field.mark)
    }

    func store(_ value: UInt64, at offset: Int) {
        word(at: offset).pointee.store(value, ordering: .releasing)
    }

    /// Adds to the number at `offset`; one caller at a time.
    func add(_ value: UInt64, at offset: Int) {
        store(load(at: offset) &+ value, at: offset)
    }

    private func load(at offset: Int) -> UInt64 {
        word(at: offset).pointee.load(ordering: .relaxed)
    }

    /// Counts a heartbeat; one caller at a time.
    package func beat() { add(1, at: OutboxLayout.Field.heartbeats) }

    // MARK: - Handling

    /// Handlers may get the event from now on.
    package func opened(_ sequence: UInt64) {
        let (offset, bit) = place(of: sequence)
        word(at: offset).pointee.bitwiseOr(bit, ordering: .releasing)
    }

    /// The last handler of the event has returned, or no handler gets the event before the next ``opened(_:)``.
    package func closed(_ sequence: UInt64) {
        let (offset, bit) = place(of: sequence)
        word(at: offset).pointee.bitwiseAnd(~bit, ordering: .releasing)
    }

    /// The word at `offset`, a multiple of 8 inside the memory; the memory begins at the start of a page.
    private func word(at offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private func place(of sequence: UInt64) -> (offset: Int, bit: UInt64) {
        let index = Int(sequence % OutboxLayout.openEvents)
        return (OutboxLayout.Field.open + index / 64 * 8, 1 << UInt64(index % 64))
    }

    /// A thread enters the inline handlers of an event.
    package func handlingBegan(_ sequence: UInt64) {
        store(sequence, at: OutboxLayout.Field.handlingBegun)
    }

    /// The thread has left the inline handlers of the event.
    package func handlingFinished(_ sequence: UInt64) {
        store(sequence, at: OutboxLayout.Field.handlingFinished)
    }
}
