package import BridgePlatform
package import BridgeProtocol

extension MemoryMapping: OutboxMemory {}

extension ChunkMemory {
    /// The operating system's pages: what a burst has filled is given back when it is over.
    static let pages = ChunkMemory(take: { Pages.take($0) }, giveBack: { Pages.giveBack($0, $1) })
}

extension MemoryFile: OutboxSource {
    /// A file for the outbox of a worker whose host takes frames within `limits`; nil if the system has none to give:
    /// the worker then keeps its outbox to itself.
    package static func forOutbox(_ limits: LinkLimits) -> MemoryFile? {
        // How much a worker keeps is its own affair, and the same for all workers. It is not what its host keeps for
        // it.
        let hardLimit = LinkLimits().outboxHardBytes
        return try? make(
            byteCount: OutboxLayout.fileBytes(outboxBytes: hardLimit, frameBytes: limits.frameBytes)
        )
    }

    /// How much of a host's large events lies where its worker reads them.
    ///
    /// Twice what an outbox holds below its default limit, as large frames leave room empty. Memory that was written
    /// once is kept until the worker ends.
    private static let shelfBytes = 8 << 20

    /// A file for the large events of a host to one worker; nil if the system cannot make one that only the host writes
    /// to: the events then go over the stream.
    package static func forShelf() -> MemoryFile? { try? makeForReaders(byteCount: shelfBytes) }

    package func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        // Reading memory cannot fail; should it fail, the reader finds nothing there.
        (try? read(at: offset, into: buffer)) ?? 0
    }
}
