/// Allocates and frees the chunks of an outbox that does not lie in shared memory.
package struct ChunkMemory: Sendable {
    let take: @Sendable (_ byteCount: Int) -> UnsafeMutableRawPointer
    let giveBack: @Sendable (_ chunk: UnsafeMutableRawPointer, _ byteCount: Int) -> Void

    package init(
        take: @escaping @Sendable (_ byteCount: Int) -> UnsafeMutableRawPointer,
        giveBack: @escaping @Sendable (_ chunk: UnsafeMutableRawPointer, _ byteCount: Int) -> Void
    ) {
        self.take = take
        self.giveBack = giveBack
    }

    /// The process's allocator.
    package static let heap = ChunkMemory(
        take: { .allocate(byteCount: $0, alignment: 16) },
        giveBack: { chunk, _ in chunk.deallocate() }
    )
}
