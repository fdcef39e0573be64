/// An event of a run: what its frame says, and where the frame lies.
///
/// A run is a row of frames whose events have one source and one name, both of which are kept once for the run. A frame
/// that is read alone is decoded into an ``EventHead``: its `ArrivedEvent` then has only sequence and length.
package struct ArrivedEvent: BitwiseCopyable, Sendable {
    package let sequence: UntrustedNumber
    package let number: UInt64
    package let nanosecondsSinceEpoch: UInt64
    package let causes: NearCauses
    package let settledBelow: UInt64?
    /// Where the frame begins, counted from the beginning of the run.
    package let start: Int
    package let frameLength: Int
    /// Where the payload begins, counted from the beginning of the frame; it goes on to the end of the frame.
    package let payloadOffset: Int

    /// Where the frame ends, counted from the beginning of the run.
    package var end: Int { start &+ frameLength }

    init(
        sequence: UInt64,
        number: UInt64,
        nanosecondsSinceEpoch: UInt64,
        causes: NearCauses,
        settledBelow: UInt64?,
        start: Int,
        frameLength: Int,
        payloadOffset: Int
    ) {
        self.sequence = UntrustedNumber(sequence)
        self.number = number
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.causes = causes
        self.settledBelow = settledBelow
        self.start = start
        self.frameLength = frameLength
        self.payloadOffset = payloadOffset
    }

    /// An event that arrives alone, with a head of its own.
    package init(sequence: UntrustedNumber, frameLength: Int) {
        self.sequence = sequence
        self.frameLength = frameLength
        (number, nanosecondsSinceEpoch, causes, settledBelow) = (0, 0, NearCauses(), nil)
        (start, payloadOffset) = (0, 0)
    }
}
