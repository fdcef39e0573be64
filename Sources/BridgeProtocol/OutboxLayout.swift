/// Where things lie in the memory of a shared outbox: a head page, then chunks of frames.
///
/// The layout is part of the protocol (`docs/reference/wire-protocol.md`). The heads hold 64-bit integers in the
/// machine's own byte order, because both processes run on the same machine.
package enum OutboxLayout {
    /// The head page's length, and where the first slot begins.
    package static let headBytes = 4_096

    /// The unit of chunks, in bytes: a chunk is one slot, or several in a row for a frame that is larger.
    package static let slotBytes = 256 << 10

    /// How many bytes a chunk's head has: the chunk's own length and the offset of the next chunk.
    package static let chunkHeadBytes = 16

    /// Where the numbers of the head page lie.
    package enum Field {
        /// ``OutboxLayout/mark``, once the rest of the page is in order.
        package static let mark = 0
        /// The offset of the chunk that holds the oldest event; 0 for none.
        package static let firstChunk = 8
        /// The newest event whose frame the worker began to write.
        package static let begun = 16
        /// The newest event whose frame is whole: as sequences count from 1, this is also the number of whole frames.
        package static let accepted = 24
        /// The total length of all whole frames, in bytes.
        package static let acceptedBytes = 32
        /// How many heartbeats the worker has counted in this word instead of sending them.
        package static let heartbeats = 40
        /// The event up to which the worker has seen all events settled; 0 if it does not say.
        package static let settled = 48
        /// The newest received event whose inline handlers have begun.
        package static let handlingBegun = 64
        /// The newest received event whose inline handlers have returned.
        package static let handlingFinished = 72
        /// The received events that were begun and not finished: bit `sequence mod openEvents`.
        package static let open = 2_048
    }

    /// How many events the bits in ``Field/open`` tell apart.
    package static let openEvents: UInt64 = 16_384

    /// The number that marks an outbox: the text `evoutbx1` in memory.
    package static let mark = UInt64(littleEndian: 0x3178_6274_756F_7665)

    /// How long the file must be, in bytes, to hold `outboxBytes` of events, however they lie.
    ///
    /// A frame never straddles two chunks, so about half of the room in all chunks together may be empty; and unused
    /// slots may lie between the chunks in use. The file takes memory only where it was written, so its length costs
    /// nothing.
    package static func fileBytes(outboxBytes: Int, frameBytes: Int) -> Int {
        let slots = (outboxBytes + frameBytes) / slotBytes + 2
        return headBytes + 4 * slots * slotBytes
    }
}
