/// What one side of a link knows of what its peer sends: whether the peer may send it, what has arrived, what is
/// handled, and what the peer has been told.
///
/// A pure machine around the window: frames and the ends of handlers come in, acknowledgements come out. The machine
/// also keeps acknowledgements by the peer until the events that they name have arrived. The type is not copyable,
/// because a link that reads one property might otherwise copy the whole value.
package struct ReceiveState: ~Copyable, Sendable {
    private var phase: LinkPhaseMachine
    private var window: ReceiveWindow
    private var allowance: ControlAllowance
    private var plan = AcknowledgementPlan()

    /// The last event of the run in hand that was noted, as handled or as pending.
    private var decided: UInt64 = 0
    /// The newest event that was found in the peer's memory; 0 for none.
    private var lastRecovered: UInt64 = 0
    /// How many gaps have arrived.
    private var gaps: UInt64 = 0
    /// How many gaps the reading thread has in hand: 1 at the most.
    private var gapsInHand = 0
    /// How many events were refused.
    package private(set) var refusedEvents: UInt64 = 0
    /// How many events broke the protocol: such an event ends the link, and this side does not answer it.
    package private(set) var brokenEvents: UInt64 = 0

    /// Acknowledgements of the peer that count only when an event of the peer has arrived.
    private var pending: [CheckedAcknowledgement] = []
    /// The event of the peer that must arrive before the peer's last acknowledgement counts; 0 for none.
    package private(set) var expectedArrival: UntrustedNumber = 0

    /// - Parameter now: nanoseconds of a monotonic clock.
    package init(role: LinkPhaseMachine.Role, limits: LinkLimits, now: UInt64) {
        phase = LinkPhaseMachine(role: role)
        window = ReceiveWindow(windowBytes: limits.windowBytes, windowEvents: limits.windowEvents)
        allowance = ControlAllowance(perSecond: limits.controlMessages, from: now)
    }

    /// Whether the handshake is done and the peer has not said goodbye.
    package var isEstablished: Bool { phase.phase == .established }

    // MARK: - Frames

    /// The peer speaks in lines, which have no window: this side then uses a larger window.
    ///
    /// Called only before the first frame.
    package mutating func beginLines(_ limits: LinkLimits) { window = LinesTranslator.window(limits) }

    /// Events have arrived together: a run, which the reading thread now has in hand.
    ///
    /// The caller has noted what became of the events of the previous run.
    ///
    /// - Returns: How many events were taken: all before the first that breaks the protocol. The others count as not
    ///   arrived.
    /// - Throws: A violation, only if the first of `events` breaks the protocol.
    package mutating func eventsReceived(_ events: UnsafeBufferPointer<ArrivedEvent>) throws(LinkViolation) -> Int {
        try phase.frameReceived(.event)
        let before = window.lastReceived
        var taken = 0
        while taken < events.count {
            do throws(LinkViolation) {
                try window.eventReceived(sequence: events[taken].sequence, frameLength: events[taken].frameLength)
            } catch {
                if taken == 0 { throw error }
                break
            }
            taken += 1
        }
        decided = before
        return taken
    }

    /// The place of an event in shared memory has arrived; the event itself is received after the place.
    package mutating func placeReceived() throws(LinkViolation) { try phase.frameReceived(.placed) }

    /// A gap has arrived, and is in hand until ``gapHandled(_:isQuietAwaited:)``.
    package mutating func gapReceived(
        sequence announced: UntrustedNumber,
        frameLength: Int
    ) throws(LinkViolation) -> UInt64 {
        try phase.frameReceived(.gap)
        let sequence = try window.eventReceived(sequence: announced, frameLength: frameLength)
        decided = sequence
        gaps += 1
        gapsInHand += 1
        return sequence
    }

    /// A control message has arrived.
    ///
    /// - Parameters:
    ///   - kind: the message's kind; nil for an unknown kind, which is skipped.
    ///   - sent: how many events have been sent to the peer.
    package mutating func messageReceived(
        _ kind: FrameKind?,
        eventsSent sent: UInt64,
        now: @autoclosure () -> UInt64
    ) throws(LinkViolation) {
        if let kind { try phase.frameReceived(kind) }
        try allowance.received(kind, events: sent, now: now())
    }

    package mutating func peerWasRejected() { phase.peerWasRejected() }

    /// An event was found in the memory that the peer has left.
    package mutating func wasRecovered(_ sequence: UInt64) { lastRecovered = sequence }

    // MARK: - Handling

    /// The last handler of an event has returned.
    ///
    /// - Parameter isQuietAwaited: whether a caller waits until the link is quiet; the peer must then be told at once.
    /// - Returns: How soon to tell the peer.
    package mutating func handled(
        _ sequence: UInt64,
        wasUnwanted: Bool = false,
        isQuietAwaited: Bool
    ) -> ReceiveWindow.Urgency {
        decided = max(decided, sequence)
        if window.eventHandled(sequence: sequence, wasUnwanted: wasUnwanted) == .none { return .none }
        return urgency(isQuietAwaited: isQuietAwaited)
    }

    /// The handlers of the run in hand have returned for all events up to this one, except those that were noted one by
    /// one, as pending, unwanted or refused.
    package mutating func handled(through sequence: UInt64) {
        while decided < sequence {
            decided += 1
            window.eventHandled(sequence: decided)
        }
    }

    /// The caller says later what becomes of this event of the run in hand.
    package mutating func isPending(_ sequence: UInt64) { decided = max(decided, sequence) }

    /// How soon to tell the peer what is handled.
    ///
    /// - Parameter isQuietAwaited: whether a caller waits until the link is quiet; the peer must then be told at once.
    package mutating func urgency(isQuietAwaited: Bool) -> ReceiveWindow.Urgency {
        let urgency = window.urgency
        if urgency == .none || urgency == .soon && !isQuietAwaited { return urgency }
        plan.acknowledgementIsDue()
        return .now
    }

    /// Whether the peer would have to be told at once if all that has arrived were handled.
    package var mayBecomeUrgent: Bool { window.mayBecomeUrgent }

    /// An event that was refused leaves the window.
    package mutating func refused(_ sequence: UInt64, isQuietAwaited: Bool) -> ReceiveWindow.Urgency {
        refusedEvents += 1
        return handled(sequence, isQuietAwaited: isQuietAwaited)
    }

    /// The gap was announced on this side.
    package mutating func gapHandled(_ sequence: UInt64, isQuietAwaited: Bool) -> ReceiveWindow.Urgency {
        gapsInHand -= 1
        return handled(sequence, isQuietAwaited: isQuietAwaited)
    }

    /// An event broke the protocol: it stays unacknowledged, because another incarnation of its sender may send it
    /// correctly.
    ///
    /// The events behind it in its run count as not arrived.
    ///
    /// - Parameter frameBytes: the total length, in bytes, of the frames of the events behind it.
    package mutating func eventBroke(_ sequence: UInt64, frameBytes: Int) {
        brokenEvents += 1
        window.giveBack(behind: sequence, frameBytes: frameBytes)
    }

    // MARK: - Acknowledging

    /// The next batch acknowledges what is handled, even if it carries nothing else.
    package mutating func acknowledgementIsDue() { if window.hasUnannounced { plan.acknowledgementIsDue() } }

    /// The next batch repeats the last acknowledgement, because that may name an event held back for ever.
    package mutating func lastAcknowledgementMayNeverStand() {
        if window.lastReceived > 0 { plan.lastMayNeverStand() }
    }

    /// Whether a batch may carry an acknowledgement; if not, ``batchLeaves(_:)`` need not be called.
    package var mayHaveToSay: Bool { window.hasUnannounced || plan.isPending }

    /// Notes that a batch leaves, and returns the acknowledgement that it carries; nil for none.
    package mutating func batchLeaves(_ batch: AcknowledgementPlan.Batch) -> Acknowledgement? {
        let ride = plan.batchLeaves(batch, hasUnannounced: window.hasUnannounced, mayRide: window.mayRide)
        return ride.flatMap { window.takeAcknowledgement(after: $0.after, isRepeated: $0.isRepeated) }
    }

    // MARK: - What the peer acknowledges

    /// The peer has acknowledged events.
    ///
    /// - Parameter accepted: the newest event that the peer has accepted, read from its shared memory, which outlives
    ///   the peer; nil if the peer shares no memory.
    /// - Returns: Whether the acknowledgement counts now; otherwise ``takeStanding(_:)`` returns it later.
    package mutating func acknowledged(
        _ acknowledgement: CheckedAcknowledgement,
        accepted: @autoclosure () -> UntrustedNumber?
    ) -> Bool {
        expectedArrival = acknowledgement.after
        if isSafe(acknowledgement.after, accepted()) { return true }
        if pending.count < 2 {
            pending.append(acknowledgement)
        } else {
            // The oldest acknowledgement counts soonest, and the newest says most; those between add nothing.
            pending[1] = acknowledgement
        }
        return false
    }

    /// Whether an acknowledgement waits for an event of the peer.
    package var hasPending: Bool { !pending.isEmpty }

    /// Takes out the oldest acknowledgement that waits, if it counts by now; nil otherwise.
    package mutating func takeStanding(_ accepted: @autoclosure () -> UntrustedNumber?) -> CheckedAcknowledgement? {
        guard let oldest = pending.first, isSafe(oldest.after, accepted()) else { return nil }
        return pending.removeFirst()
    }

    /// Whether this event of the peer has arrived, or lies in memory that outlives the peer.
    private func isSafe(_ sequence: UntrustedNumber, _ accepted: @autoclosure () -> UntrustedNumber?) -> Bool {
        sequence <= lastArrived || accepted().map { sequence <= $0 } ?? false
    }

    /// Whether the event `expectedArrival` of the peer has arrived, or is 0.
    package var hasExpected: Bool { expectedArrival <= lastArrived }

    // MARK: - What is known

    /// The newest event that came over the stream.
    package var lastReceived: UInt64 { window.lastReceived }

    /// The newest event of the peer, whichever way it came.
    package var lastArrived: UInt64 { max(window.lastReceived, lastRecovered) }

    package var mark: UInt64 { window.mark }

    /// How many events and gaps have come over the stream and are not handled yet.
    package var unhandledEvents: Int { window.unhandledEvents }

    /// How many events have come over the stream, without gaps.
    package var receivedEvents: UInt64 { window.lastReceived - gaps }

    /// How many events have come over the stream and are not handled yet, without gaps.
    package var openEvents: Int { window.unhandledEvents - gapsInHand }

    package var unwantedEvents: UInt64 { window.unwantedEvents }

    /// The total length of the frames of the events and gaps that came over the stream, in bytes.
    package var receivedBytes: UInt64 { window.receivedBytes }

    /// The newest event that has arrived or was recovered, and ``receivedBytes``.
    ///
    /// It changes nothing. It is mutating because the compiler copies the whole value for a call that only borrows it.
    package mutating func progress() -> (arrived: UInt64, bytes: UInt64) { (lastArrived, receivedBytes) }
}
