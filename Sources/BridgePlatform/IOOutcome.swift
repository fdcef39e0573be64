/// What became of an attempt to move bytes.
///
/// All but the last two are part of a connection's ordinary life.
package enum IOOutcome: Equatable, Sendable {
    /// This many bytes were moved; fewer than asked for is no error.
    case transferred(Int)

    /// Nothing can be moved now, or, on a blocking call, the time limit has passed.
    case wouldBlock

    /// The peer has closed its end, or has died, or this side has shut the stream down.
    case endOfStream

    /// The peer has passed descriptors along, which were not asked for and were not installed.
    case descriptorsPassed

    case failed(SystemError)
}
