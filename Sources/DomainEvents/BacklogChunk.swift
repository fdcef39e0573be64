/// A piece of memory in which events wait; it is reused or freed when all its events are gone.
struct BacklogChunk {
    var next: UnsafeMutablePointer<BacklogChunk>?
    let capacity: Int
    var used = 0
    /// How many places in the chunk are in use.
    var live = 0

    static var headBytes: Int { MemoryLayout<BacklogChunk>.stride }

    static func make(capacity: Int) -> UnsafeMutablePointer<BacklogChunk> {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: headBytes + capacity, alignment: 16)
        let chunk = memory.bindMemory(to: BacklogChunk.self, capacity: 1)
        chunk.initialize(to: BacklogChunk(capacity: capacity))
        return chunk
    }
}
