/// Memory in which a host keeps large events, and from which a worker copies them.
///
/// Unlike a shared outbox, it has no head page and no list of chunks: the worker reads only what placed frames name.
final class FrameShelf {
    private let slots: SlotTable

    /// Makes a shelf in `memory`; nil if the memory is too small to hold a chunk.
    init?(_ memory: any OutboxMemory) {
        guard let slots = SlotTable(memory, from: 0) else { return nil }
        self.slots = slots
    }

    /// Takes room for at least `capacity` bytes of frames; nil if the shelf has no room for them.
    func takeChunk(capacity: Int) -> UnsafeMutableRawBufferPointer? { slots.take(capacity) }

    /// Gives back a chunk in which no event lies any more.
    func giveBack(frames: UnsafeMutableRawPointer, capacity: Int) {
        slots.giveBack(UnsafeMutableRawBufferPointer(start: frames, count: capacity))
    }

    /// The offset of a frame in the memory; nil if the frame lies elsewhere.
    func offset(of frame: UnsafeRawPointer) -> Int? { slots.offset(of: frame) }
}
