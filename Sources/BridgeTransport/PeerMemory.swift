import BridgePlatform
import BridgeProtocol

/// What a peer shares with this side in memory, as far as this side reads it: large events and counts while the link
/// lives, and the outbox that a worker has left when its process has ended.
///
/// It changes on the thread that begins the link and then on the reading thread alone, with the link's lock held. So
/// the reading thread reads it without the lock.
struct PeerMemory {
    /// Takes large events out of the memory; nil if the peer shares none.
    private(set) var copies: FrameCopies?
    /// What a worker has accepted, as its memory says; nil in a worker, and for a worker whose memory is not mapped.
    private(set) var outbox: OutboxProgress?
    /// The memory that ``outbox`` reads.
    private var mapping: MemoryMapping?
    /// The worker's memory if it could become shorter, so that it is read by system calls only; otherwise nil.
    private(set) var unmapped: MemoryFile?
    /// Whether the memory holds the peer's outbox, to be read after its death.
    private(set) var isToBeRecovered = false
    /// What was found in the outbox, once it has been read.
    private(set) var found: RecoveredOutbox?

    /// Notes the memory that belongs to the link's stream.
    ///
    /// - Parameters:
    ///   - events: the memory in which the peer's large events lie.
    ///   - outbox: the peer's outbox; nil if this side does not read it while the peer lives.
    mutating func streamCame(events: MemoryFile?, outbox: MemoryMapping?, recoversOutbox: Bool) {
        copies = events.map { FrameCopies($0, mapping: outbox) }
        self.outbox = outbox.flatMap(OutboxProgress.init)
        mapping = outbox
        unmapped = recoversOutbox && outbox == nil ? events : nil
        isToBeRecovered = recoversOutbox
    }

    /// This side reads no more of what the peer has shared.
    mutating func forget() { (copies, outbox, mapping, unmapped) = (nil, nil, nil, nil) }

    /// The outbox has been read.
    mutating func wasRecovered(_ found: RecoveredOutbox) { self.found = found }

    /// How many events the peer has accepted, as its memory says; nil if no outbox of the peer is mapped.
    var accepted: UntrustedNumber? { outbox?.accepted }

    /// As ``accepted``, but also for memory that is not mapped; this may take a system call.
    var acceptedNow: UntrustedNumber? { outbox?.accepted ?? unmapped.map { OutboxProgress.accepted(in: $0) } }

    /// How many events the recovered outbox held that the stream had not brought.
    var foundEvents: UInt64 { UInt64(found?.events ?? 0) }
}
