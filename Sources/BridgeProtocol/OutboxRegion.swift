/// Takes a worker's chunks from shared memory, and keeps the list of chunks in which the host finds the frames.
///
/// The list runs from the chunk of the oldest event to the chunk of the newest event. It is in order at every moment,
/// so that the host can read it whenever the worker dies.
final class OutboxRegion {
    let head: OutboxHead
    private let slots: SlotTable

    /// Makes the region of `memory`; nil if the memory is too small to hold a chunk.
    init?(_ memory: any OutboxMemory) {
        guard let slots = SlotTable(memory, from: OutboxLayout.headBytes), let head = OutboxHead(memory) else {
            return nil
        }
        self.slots = slots
        self.head = head
    }

    // MARK: - Chunks

    /// Takes a chunk with room for at least `capacity` bytes of frames; nil if the memory has no room for it.
    func takeChunk(capacity: Int) -> UnsafeMutableRawBufferPointer? {
        guard let chunk = slots.take(capacity + OutboxLayout.chunkHeadBytes) else { return nil }
        return UnsafeMutableRawBufferPointer(rebasing: chunk[OutboxLayout.chunkHeadBytes...])
    }

    /// Gives back a chunk in which no event lies any more.
    func giveBack(frames: UnsafeMutableRawPointer, capacity: Int) {
        slots.giveBack(
            UnsafeMutableRawBufferPointer(
                start: frames - OutboxLayout.chunkHeadBytes,
                count: capacity + OutboxLayout.chunkHeadBytes
            )
        )
    }

    /// The offset of a frame in the memory.
    func offset(of frame: UnsafeRawPointer) -> Int? { slots.offset(of: frame) }

    /// The offset of a chunk in the memory; every chunk has one, because it was taken from the memory.
    private func offset(ofChunk frames: UnsafeMutableRawPointer) -> Int {
        slots.offset(of: frames - OutboxLayout.chunkHeadBytes) ?? 0
    }

    // MARK: - The list of chunks

    /// The oldest event lies in this chunk from now on; nil if no event is left.
    func listBegins(with frames: UnsafeMutableRawPointer?) {
        head.store(frames.map { UInt64(offset(ofChunk: $0)) } ?? 0, at: OutboxLayout.Field.firstChunk)
    }

    /// Puts a chunk at the end of the list, after `last`, which holds `used` bytes of frames.
    func append(
        _ frames: UnsafeMutableRawPointer,
        capacity: Int,
        behind last: (frames: UnsafeMutableRawPointer, used: Int, capacity: Int)?
    ) {
        let start = offset(ofChunk: frames)
        head.store(UInt64(capacity + OutboxLayout.chunkHeadBytes), at: start)
        head.store(0, at: start + 8)
        guard let last else { return listBegins(with: frames) }
        if last.capacity - last.used >= FrameDecoder.headBytes {
            (last.frames + last.used).storeBytes(of: 0, as: UInt32.self)
        }
        head.store(UInt64(start), at: offset(ofChunk: last.frames) + 8)
    }

    /// The frame of this event is about to be written.
    func began(_ sequence: UInt64) {
        head.store(sequence, at: OutboxLayout.Field.begun)
    }

    /// The frame of this event is whole: it now outlives the process.
    func accepted(_ sequence: UInt64, frameLength: Int) {
        head.add(UInt64(frameLength), at: OutboxLayout.Field.acceptedBytes)
        head.store(sequence, at: OutboxLayout.Field.accepted)
    }

    /// All events up to this one are settled, and none of them is kept.
    func settled(through sequence: UInt64) {
        head.store(sequence, at: OutboxLayout.Field.settled)
    }
}
