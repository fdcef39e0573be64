package import BridgePlatform
package import BridgeProtocol

extension MemoryMapping: OutboxMemory {}

extension ChunkMemory {
    /// The operating system's pages: what a burst has filled goes back to the system when the burst is over.
    static let pages = ChunkMemory(take: { Pages.take($0) }, giveBack: { Pages.giveBack($0, $1) })
}

extension MemoryFile: OutboxSource {
    /// A file for the outbox of a worker whose host takes frames within `limits`; nil if the system cannot make one:
    /// the worker then keeps its outbox in its own memory.
    package static func forOutbox(_ limits: LinkLimits) -> MemoryFile? { try? make(byteCount: outboxBytes(limits)) }

    /// How many bytes the file of ``forOutbox(_:)`` has.
    package static func outboxBytes(_ limits: LinkLimits) -> Int {
        // A worker's own outbox has the same limit in all workers, whatever the limit of the host's outbox for it.
        let hardLimit = LinkLimits().outboxHardBytes
        return OutboxLayout.fileBytes(outboxBytes: hardLimit, frameBytes: limits.frameBytes)
    }

    /// How many bytes a file for an outbox has at most, whatever the limits of its worker.
    package static var greatestOutboxBytes: Int {
        var limits = LinkLimits()
        limits.frameBytes = LinkLimits.greatestFrameBytes
        return outboxBytes(limits)
    }

    /// How many bytes of memory a host shares with a worker for its large events to that worker.
    ///
    /// These are twice the default limit of an outbox, because large frames leave gaps. Memory that was written once is
    /// kept until the worker ends.
    private static let shelfBytes = 8 << 20

    /// A file for a host's large events to one worker; nil if the system cannot make a file to which only the host can
    /// write: the events then go over the stream.
    package static func forShelf() -> MemoryFile? { try? makeForReaders(byteCount: shelfBytes) }

    package func copy(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        // The read of a file on a disk may fail; the caller then finds no bytes.
        (try? read(at: offset, into: buffer)) ?? 0
    }
}
