/// First-in, first-out memory for encoded frames; a frame's address never changes.
///
/// Frames lie one after the other in chunks, so that many leave in one write; no frame straddles two chunks. When no
/// frame of a chunk is left, the chunk is given back or used again. Either all chunks lie in a shared outbox, or they
/// are this process's own memory. In the second case, large frames may lie on a shelf that the peer reads.
struct FrameStore: ~Copyable {
    private struct Chunk {
        let base: UnsafeMutableRawPointer
        let capacity: Int
        var isOnShelf = false
        var used = 0
        var frames = 0

        /// Takes room for a frame behind the others; nil if the chunk has no room left.
        mutating func take(_ length: Int) -> UnsafeMutableRawPointer? {
            guard capacity - used >= length else { return nil }
            defer { used += length }
            frames += 1
            return base + used
        }
    }

    /// The usual size of a chunk, in bytes: a burst leaves in few writes, and an idle link holds little memory.
    private static let chunkBytes = OutboxLayout.slotBytes

    /// The shared outbox in which all chunks lie; nil if they are this process's own memory or lie on the shelf.
    let region: OutboxRegion?
    /// The shelf, which holds large frames as far as it has room; nil if the store has no shelf.
    var shelf: FrameShelf?
    private var chunks: [Chunk] = []
    private var first = 0
    /// Empty chunks for the next burst: fresh memory is expensive, and bursts mostly repeat.
    private var spares: [Chunk] = []
    private var spareBytes = 0

    /// How many bytes the spares may have: enough for an outbox at its default limit, and for the ends of chunks that
    /// large frames leave empty.
    private static let keptBytes = 8 << 20

    private let memory: ChunkMemory

    init(_ memory: ChunkMemory) {
        self.memory = memory
        region = nil
    }

    init(region: OutboxRegion) {
        self.region = region
        memory = .heap
    }

    deinit {
        guard region == nil else { return }
        for chunk in chunks[first...] + spares where !chunk.isOnShelf { memory.giveBack(chunk.base, chunk.capacity) }
    }

    /// Takes room for a frame of `length` bytes behind all others; nil if the shared memory has no room left.
    mutating func append(_ length: Int) -> UnsafeMutableRawPointer? {
        let last = chunks.count - 1
        if last >= first, shelf == nil || length < LinkLimits.placedBytes || chunks[last].isOnShelf,
            let frame = chunks[last].take(length)
        {
            return frame
        }
        // `removeFirst` may have kept an empty first chunk. The new frame does not go into that chunk, and no later
        // removal would retire the chunk.
        if first < chunks.count, chunks[first].frames == 0 { retireFirst() }
        guard var chunk = takeFromShelf(length) ?? makeChunk(length) else { return nil }
        if let region {
            let last = first < chunks.count ? chunks.last.map { ($0.base, $0.used, $0.capacity) } : nil
            region.append(chunk.base, capacity: chunk.capacity, behind: last)
        }
        let frame = chunk.take(length)
        chunks.append(chunk)
        return frame
    }

    /// Takes room on the shelf; nil for a small frame, or if the shelf has no room.
    private mutating func takeFromShelf(_ length: Int) -> Chunk? {
        guard let shelf, length >= LinkLimits.placedBytes else { return nil }
        if let fitting = spares.lastIndex(where: { $0.isOnShelf && $0.capacity >= length }) {
            spareBytes -= spares[fitting].capacity
            return spares.remove(at: fitting)
        }
        var memory = shelf.takeChunk(capacity: length)
        if memory == nil {
            // Each spare alone is too small; given back together they may make room.
            for spare in spares where spare.isOnShelf { giveBack(spare) }
            spares.removeAll { $0.isOnShelf }
            spareBytes = spares.reduce(0) { $0 + $1.capacity }
            memory = shelf.takeChunk(capacity: length)
        }
        guard let memory, let base = memory.baseAddress else { return nil }
        return Chunk(base: base, capacity: memory.count, isOnShelf: true)
    }

    private func giveBack(_ chunk: Chunk) {
        if chunk.isOnShelf {
            shelf?.giveBack(frames: chunk.base, capacity: chunk.capacity)
        } else if let region {
            region.giveBack(frames: chunk.base, capacity: chunk.capacity)
        } else {
            memory.giveBack(chunk.base, chunk.capacity)
        }
    }

    private mutating func makeChunk(_ length: Int) -> Chunk? {
        if let fitting = spares.lastIndex(where: { $0.capacity >= length && !$0.isOnShelf }) {
            spareBytes -= spares[fitting].capacity
            return spares.remove(at: fitting)
        }
        guard let region else {
            let capacity = max(length, Self.chunkBytes)
            return Chunk(base: memory.take(capacity), capacity: capacity)
        }
        var taken = region.takeChunk(capacity: length)
        if taken == nil {
            // Each spare alone is too small; given back together they may make room.
            for spare in spares { region.giveBack(frames: spare.base, capacity: spare.capacity) }
            (spares, spareBytes) = ([], 0)
            taken = region.takeChunk(capacity: length)
        }
        guard let taken, let base = taken.baseAddress else { return nil }
        return Chunk(base: base, capacity: taken.count)
    }

    /// The offset of a frame in memory that the peer shares; nil if the frame lies in this process's own memory.
    func sharedOffset(of frame: UnsafeRawPointer) -> Int? { region?.offset(of: frame) ?? shelf?.offset(of: frame) }

    /// Gives back the oldest frame's memory.
    mutating func removeFirst() {
        chunks[first].frames -= 1
        guard chunks[first].frames == 0 else { return }
        if first == chunks.count - 1, chunks[first].capacity <= Self.chunkBytes {
            // The only chunk in use: begin again at its start.
            chunks[first].used = 0
            return
        }
        retireFirst()
    }

    /// Keeps the first chunk as a spare, or gives it back; the chunk is empty.
    private mutating func retireFirst() {
        var empty = chunks[first]
        empty.used = 0
        first += 1
        region?.listBegins(with: first < chunks.count ? chunks[first].base : nil)
        if first > 32, first * 2 > chunks.count {
            chunks.removeFirst(first)
            first = 0
        }
        if spareBytes + empty.capacity <= Self.keptBytes {
            spareBytes += empty.capacity
            spares.append(empty)
        } else {
            giveBack(empty)
        }
    }
}
