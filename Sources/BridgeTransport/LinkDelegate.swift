package import BridgeProtocol
package import DomainEvents

/// What became of an event frame.
package enum EventDisposition {
    /// Every handler has returned.
    case handled
    /// Neither this process nor any peer that the event could be passed on to wants it.
    case unwanted
    /// Handlers still have the event: `Link.eventHandled(_:)` or `Link.refuse(_:)` will be called.
    case pending
    case refused(Refusal.Reason, text: String)
}

/// Why a link has ended.
package enum LinkEnd: Sendable, Hashable {
    /// The peer said goodbye first.
    case orderly(Goodbye)
    /// The stream ended without a goodbye: the peer has crashed, or is gone.
    case endOfStream
    /// The peer broke the protocol.
    case violation(String)
    /// The operating system failed.
    case failed(String)
    /// This side closed the link.
    case closed

    var isViolation: Bool {
        if case .violation = self { true } else { false }
    }
}

/// Acts on what a link brings.
///
/// All calls come one after the other on the link's reading thread, without a lock held.
package protocol LinkDelegate: AnyObject, Sendable {
    /// An event frame arrived. `payload` is valid during the call only, and `run` is what the thread keeps from the
    /// event before.
    func link(
        _ link: Link,
        received head: EventHead,
        payload: UnsafeRawBufferPointer,
        in run: inout EventRun
    ) throws -> EventDisposition

    /// The peer says that events are missing here.
    func link(_ link: Link, received gap: GapFrame) throws

    /// A message arrived: any message but an event, a gap, an acknowledgement or a refusal.
    func link(_ link: Link, received message: ControlMessage) throws

    /// The peer refuses an event that this side sent; `payload` is valid during the call only.
    func link(_ link: Link, wasRefused head: EventHead, payload: UnsafeRawBufferPointer, refusal: Refusal)

    /// These events have been written for a peer that acknowledges nothing, and a publisher waits to hear of them.
    ///
    /// Unlike the other calls, this call comes on the thread that has written the events.
    func link(_ link: Link, leftUnconfirmed events: [EventID])

    /// The stream was read to its end. What the peer has left in memory may follow, once the peer's process is gone.
    func linkWasReadToEnd(_ link: Link, _ end: LinkEnd)

    /// The link has ended; nothing comes after this.
    func linkEnded(_ link: Link, _ end: LinkEnd)
}

extension LinkDelegate {
    package func link(_ link: Link, leftUnconfirmed events: [EventID]) {}
    package func linkWasReadToEnd(_ link: Link, _ end: LinkEnd) {}
}
