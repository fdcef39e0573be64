package import BridgePlatform

/// A two-way stream of bytes: the interface between a link and what carries it.
///
/// Reading blocks, so each link has a thread that reads; writing never blocks. Both ends behave the same over a socket
/// and in memory: partial writes, a bounded buffer between the two ends, and an end of the stream when the other side
/// closes or dies.
package protocol ByteStream: AnyObject, Sendable {
    /// Memory that both ends share besides the stream, for the worker's outbox; nil if there is none.
    var memory: MemoryFile? { get }

    /// Memory to which the host alone writes, for its large events; nil if there is none.
    var shelf: MemoryFile? { get }

    /// Why nothing more can be read, if the stream itself parses its bytes; nil if the stream has simply ended.
    var finding: StreamFinding? { get }

    /// Waits for bytes; one caller at a time.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome

    /// Writes as much of the pieces as fits at once; one caller at a time.
    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome

    /// Calls `body` once, after this call and on the poller's thread, when writing may go on or the stream has ended;
    /// does not call it if the poller is stopped before that.
    func whenWritable(_ body: @escaping @Sendable () -> Void)

    /// Says that nothing more will be written; the other side reads to the end.
    func finishWriting()

    /// Lets nothing more arrive: what has arrived can still be read, and after that the stream ends.
    func finishReading()

    /// Ends the stream both ways: a blocked read returns.
    func close()
}

extension ByteStream {
    package var memory: MemoryFile? { nil }
    package var shelf: MemoryFile? { nil }
    package var finding: StreamFinding? { nil }
}

/// Why a stream that parses its own bytes cannot be read further.
package enum StreamFinding: Sendable, Hashable {
    /// The peer broke the protocol.
    case violation(String)
    /// The stream ended in the middle of a line or a frame.
    case torn(String)
}
