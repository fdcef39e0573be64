/// What the frame of one event says, besides source and name, and where the frame lies: a value without references.
///
/// If the event has causes, a trace or an earlier attempt, ``EventHead`` says all of it, and only the sequence and the
/// place here count.
package struct ArrivedEvent: BitwiseCopyable, Sendable {
    package let sequence: UntrustedNumber
    package let number: UInt64
    package let nanosecondsSinceEpoch: UInt64
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
        settledBelow: UInt64?,
        start: Int,
        frameLength: Int,
        payloadOffset: Int
    ) {
        self.sequence = UntrustedNumber(sequence)
        self.number = number
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.settledBelow = settledBelow
        self.start = start
        self.frameLength = frameLength
        self.payloadOffset = payloadOffset
    }

    /// An event that arrives alone, with a head of its own.
    package init(sequence: UntrustedNumber, frameLength: Int) {
        self.sequence = sequence
        self.frameLength = frameLength
        (number, nanosecondsSinceEpoch, settledBelow, start, payloadOffset) = (0, 0, nil, 0, 0)
    }
}
