package import BridgeProtocol
package import DomainEvents

/// What became of an event frame.
package enum EventDisposition {
    /// Every handler has returned.
    case handled
    /// Neither this process nor any peer that the event could be passed on to wants it.
    case unwanted
    /// Handlers still have the event: `Link.eventHandled(_:)` or `Link.refusedEventLeft(_:)` will be called.
    case pending
    case refused(Refusal.Reason, text: String)
}

/// Takes the events that a link brings, and what the peer says of this side's events.
///
/// All calls come without a lock held, on the thread that reads the link or recovers a left outbox. They come one after
/// the other; but while a call is in slow handlers, another thread reads on and makes the next calls. For a peer that
/// acknowledges nothing, `sawSettled` and `leftUnconfirmed` come on the thread that has written the events, or that
/// reads at the link's end.
package protocol LinkEventSink: AnyObject, Sendable {
    /// Events arrived; one of them is in hand.
    ///
    /// When an event is handled, the sink may go on to the next one with ``EventRun/handledTakesNext()``.
    ///
    /// - Returns: What became of the event that is in hand at the end.
    func link(_ link: Link, received run: inout EventRun) throws -> EventDisposition

    /// The peer says that events are missing here.
    func link(_ link: Link, received gap: GapFrame) throws

    /// The peer says what became of an event in a process.
    func link(_ link: Link, received receipt: Receipt) throws

    /// The peer refuses an event that this side sent.
    ///
    /// - Parameters:
    ///   - payload: valid during the call only.
    ///   - isOwed: whether a journal has to hear what becomes of the event.
    /// - Returns: Whether the journal hears of the event without the link: from the note of the dead letter that the
    ///   event has become, or when the wait of a publisher has ended.
    func link(
        _ link: Link,
        wasRefused head: EventHead,
        payload: UnsafeRawBufferPointer,
        isOwed: Bool,
        refusal: Refusal
    ) -> Bool

    /// The peer has settled these events, all of one source; a journal has to hear of that.
    ///
    /// Whatever the peer's handlers have published for them was received before, unless it is lost.
    ///
    /// - Parameter numbers: ranges in ascending order, at most as many as one note has room for.
    func link(_ link: Link, sawSettled numbers: [ClosedRange<UInt64>], of source: EventSource)

    /// These events have been written for a peer that acknowledges nothing, and a publisher waits to hear of them.
    func link(_ link: Link, leftUnconfirmed events: [EventID])

    /// The peer has acknowledged these events of a replay, whether it has sent receipts for them or not.
    func link(_ link: Link, sawReplaysSettled events: [EventID])
}

extension LinkEventSink {
    package func link(_ link: Link, sawReplaysSettled events: [EventID]) {}
}

/// Takes what a link brings about its peer: the handshake, what the peer wants and does, and the end.
///
/// All calls come one after the other on the link's reading thread, without a lock held.
package protocol LinkControlSink: AnyObject, Sendable {
    /// A message arrived that is neither an event, gap or receipt nor an acknowledgement or refusal.
    func link(_ link: Link, received message: ControlMessage) throws

    /// The stream was read to its end. What the peer has left in memory may follow, once the peer's process is gone.
    func linkWasReadToEnd(_ link: Link, _ end: LinkEnd)

    /// The link has ended; nothing comes after this.
    func linkEnded(_ link: Link, _ end: LinkEnd)
}

extension LinkControlSink {
    package func linkWasReadToEnd(_ link: Link, _ end: LinkEnd) {}
}

/// The two sinks of a link, and memory for what one of them gets.
struct LinkSinks {
    /// Set when the link is started.
    weak var control: (any LinkControlSink)?
    /// Nil before the handshake and after the end.
    var events: (any LinkEventSink)?
    /// Memory for the numbers of settled events, which `events` gets; empty between two uses.
    var numbers: [ClosedRange<UInt64>] = []
}
