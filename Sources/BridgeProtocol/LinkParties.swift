package import DomainEvents

/// The two processes that a link connects, each with the source of its events and the incarnation under which it
/// acknowledges.
///
/// Frames shorten identities: a number alone means an event of the side that writes the frame, a negative number an
/// event of the side that reads it. So the meaning of a frame depends on which side has written it.
package struct LinkParties: Sendable {
    /// The source of the events that this side publishes.
    package private(set) var own: EventSource
    /// The source of the events that the peer publishes; nil before the handshake.
    package private(set) var peer: EventSource?
    /// The incarnation under which this side acknowledges; 0 before the handshake.
    package private(set) var ownIncarnation: UInt64 = 0

    package init(own: EventSource) { self.own = own }

    /// The handshake is done.
    ///
    /// - Parameter own: the source of this side's events, if the handshake has set it; nil if it was known before.
    package mutating func established(own: EventSource?, peer: EventSource, ownIncarnation: UInt64) {
        if let own { self.own = own }
        self.peer = peer
        self.ownIncarnation = ownIncarnation
    }

    /// The sources of both sides' events, once the handshake is done: from then on the link keeps both alive.
    @inline(__always)
    package var established: (peer: Unmanaged<EventSource>, own: Unmanaged<EventSource>)? {
        peer.map { (.passUnretained($0), .passUnretained(own)) }
    }

    /// The incarnation that the peer's acknowledgements must carry; 0 before the handshake.
    package var peerIncarnation: UInt64 { peer?.incarnation ?? 0 }

    /// Whether the source is this side; compares only objects, because all events of this side share one source.
    @inline(__always)
    func isOwn(_ source: EventSource) -> Bool { source === own }

    /// Whether the source is neither of the two processes.
    func isThird(_ source: EventSource) -> Bool {
        guard source != own else { return false }
        guard let peer else { return true }
        return source != peer
    }

    // MARK: - What this side writes

    /// An identity as this side writes it.
    package func written(_ id: EventID) -> WireID { id.spelled(from: own, to: peer) }

    /// The identity, causes and trace of an event whose head this side has written.
    package func written(_ head: EventHead) -> EventContext {
        head.context(from: own, to: peer ?? own)
    }

    /// The gap in a frame that this side has written.
    package func written(_ gap: GapFrame, name: String) -> Gap {
        Gap(gap, name: name, sender: own, receiver: peer ?? own)
    }

    /// An identity as an ``EventFrame/PlainHead`` spells it; nil for an event of a third process.
    @inline(__always)
    func near(_ id: BorrowedID) -> NearID? {
        id.source._withUnsafeGuaranteedRef { source in
            if source === own { return .sender(id.number) }
            if let peer, source === peer || source == peer { return .receiver(id.number) }
            return source == own ? .sender(id.number) : nil
        }
    }

    // MARK: - What the peer writes

    /// An identity that the peer has written; nil before the handshake.
    package func received(_ id: WireID) -> EventID? { peer.map { id.identity(from: $0, to: own) } }

    /// The identity, causes and trace of an event whose head the peer has written; nil before the handshake.
    package func received(_ head: EventHead) -> EventContext? {
        peer.map { head.context(from: $0, to: own) }
    }

    /// The gap in a frame that the peer has written; nil before the handshake.
    package func received(_ gap: GapFrame, name: String) -> Gap? {
        peer.map { Gap(gap, name: name, sender: $0, receiver: own) }
    }
}

extension Gap {
    fileprivate init(_ frame: GapFrame, name: String, sender: EventSource, receiver: EventSource) {
        self.init(
            name: name,
            // A peer that sends a new number each time could otherwise keep its gaps from being merged.
            reason: Gap.Reason(asWritten: frame.reason),
            count: frame.count,
            ranges: frame.ranges.map {
                Range(first: $0.first.identity(from: sender, to: receiver), last: $0.last)
            }
        )
    }
}
