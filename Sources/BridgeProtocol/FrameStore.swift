/// First-in, first-out memory for encoded frames whose addresses never change.
///
/// Frames lie one behind the other in chunks, so that many leave in one write, and no frame straddles two. A chunk is given
/// back, or used again, when the last frame in it is.
struct FrameStore: ~Copyable {
    private struct Chunk {
        let base: UnsafeMutableRawPointer
        let capacity: Int
        var used = 0
        var frames = 0
    }

    /// Large enough that a burst leaves in few writes, small enough that an idle link holds little.
    private static let chunkBytes = 256 << 10

    private var chunks: [Chunk] = []
    private var first = 0
    /// Empty chunks for the next burst: fresh memory is dear, and bursts mostly repeat.
    private var spares: [Chunk] = []
    private var spareBytes = 0

    /// How much is kept: the room in an outbox below its default limit.
    private static let keptBytes = 4 << 20

    deinit {
        for chunk in chunks[first...] { chunk.base.deallocate() }
        for chunk in spares { chunk.base.deallocate() }
    }

    /// Room for a frame of `length` bytes at the end of the line.
    mutating func append(_ length: Int) -> UnsafeMutableRawPointer {
        if let last = chunks.indices.last, last >= first, chunks[last].capacity - chunks[last].used >= length {
            defer {
                chunks[last].used += length
                chunks[last].frames += 1
            }
            return chunks[last].base + chunks[last].used
        }
        var chunk = makeChunk(length)
        chunk.used = length
        chunk.frames = 1
        chunks.append(chunk)
        return chunk.base
    }

    private mutating func makeChunk(_ length: Int) -> Chunk {
        if let fitting = spares.lastIndex(where: { $0.capacity >= length }) {
            spareBytes -= spares[fitting].capacity
            return spares.remove(at: fitting)
        }
        let capacity = max(length, Self.chunkBytes)
        return Chunk(base: .allocate(byteCount: capacity, alignment: 16), capacity: capacity)
    }

    /// Gives back the oldest frame's memory.
    mutating func removeFirst() {
        chunks[first].frames -= 1
        guard chunks[first].frames == 0 else { return }
        if first == chunks.count - 1, chunks[first].capacity == Self.chunkBytes {
            // The only chunk in use: begin again at its start.
            chunks[first].used = 0
            return
        }
        var empty = chunks[first]
        empty.used = 0
        first += 1
        if first > 32, first * 2 > chunks.count {
            chunks.removeFirst(first)
            first = 0
        }
        if spareBytes + empty.capacity <= Self.keptBytes {
            spareBytes += empty.capacity
            spares.append(empty)
        } else {
            empty.base.deallocate()
        }
    }
}
