/// Memory in which a host's large events lie, and which its worker reads.
///
/// The worker looks there only for what a placed frame names: the memory has no head and no trail.
final class FrameShelf {
    private let slots: SlotTable

    /// Nil if the memory is too small to hold anything.
    init?(_ memory: any OutboxMemory) {
        guard let slots = SlotTable(memory, from: 0) else { return nil }
        self.slots = slots
    }

    /// Room for `capacity` bytes of frames at least; nil if there is none.
    func takeChunk(capacity: Int) -> UnsafeMutableRawBufferPointer? { slots.take(capacity) }

    /// Gives back a chunk in which no event lies any more.
    func giveBack(frames: UnsafeMutableRawPointer, capacity: Int) {
        slots.giveBack(UnsafeMutableRawBufferPointer(start: frames, count: capacity))
    }

    /// Where a frame lies in the memory; nil if it lies elsewhere.
    func offset(of frame: UnsafeRawPointer) -> Int? { slots.offset(of: frame) }
}
