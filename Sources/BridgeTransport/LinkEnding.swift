package import BridgeProtocol

/// Which steps towards its end a link has taken.
///
/// This side may close the link, the peer's process may end, and the stream ends, in any order. After that, this side
/// may read what the peer has left in memory. Then the link has ended. No step is taken back.
package struct LinkEnding: Sendable, Hashable {
    /// How the link has ended; nil until it has ended.
    package private(set) var end: LinkEnd?
    /// Whether this side has closed the link: nothing of the peer is recovered, and a worker takes no more events.
    package private(set) var isClosedHere = false
    private var isPeerGone = false
    /// Whether the stream was read to its end.
    package private(set) var isReadToEnd = false
    /// Why the link is broken off.
    private var brokenOff: String?

    package init() {}

    package mutating func closedHere() { isClosedHere = true }

    /// The peer's process has ended, even if another process still holds its socket.
    package mutating func peerWent() { isPeerGone = true }

    /// The link is broken off, and the reading thread will report the reason, `text`: the peer reads nothing, an event
    /// or an interest is too large for the peer, or a thread that comes from a slow handler has found a breach of the
    /// protocol.
    package mutating func breakOff(_ text: String) { brokenOff = text }

    /// The stream was read to its end: what is queued from now on is for the next incarnation.
    package mutating func streamWasReadToEnd() { isReadToEnd = true }

    /// Nothing more comes from the peer, and nothing leaves for it; the first end counts.
    package mutating func ended(_ ending: LinkEnd) { if end == nil { end = ending } }

    package var hasEnded: Bool { end != nil }

    /// Whether anything can still be written to the peer.
    package var isWritable: Bool { end == nil && !isReadToEnd }

    /// Whether the peer can read nothing more that this side says: its process or its stream has ended.
    package var isPeerDeaf: Bool { isPeerGone || isReadToEnd }

    /// Whether a message to the peer is taken.
    package var takesMessages: Bool { isWritable && brokenOff == nil }

    /// Whether the end of the peer's process is awaited: until it comes, the process may still write to its memory.
    package var awaitsPeersEnd: Bool { !isPeerGone && !isClosedHere }

    /// Why this side ends the link; nil if it does not.
    package var cause: Cause? {
        if isClosedHere { return .closedHere }
        return brokenOff.map { .brokenOff($0) }
    }

    package enum Cause: Sendable, Hashable {
        case closedHere
        case brokenOff(String)
    }
}

/// Why a link has ended.
package enum LinkEnd: Sendable, Hashable {
    /// The peer said goodbye.
    case orderly(Goodbye)
    /// The stream ended without a goodbye: the peer has crashed, or is gone.
    case endOfStream
    /// The peer broke the protocol, or this side broke the link off for another reason.
    case violation(String)
    /// The operating system failed, or the stream ended inside a frame or a line.
    case failed(String)
    /// This side closed the link.
    case closed

    var isViolation: Bool {
        if case .violation = self { true } else { false }
    }
}
