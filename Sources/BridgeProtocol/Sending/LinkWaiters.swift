/// The callers that wait for a link: for room in its outbox, for a peer that keeps up, for the moment when nothing is
/// under way (*quiet*), or for an event that needs the peer started (*demand*).
///
/// Each closure is called once, when the wait is over: by the thread that has taken it out, without the link's lock.
/// Only a closure for demand that is replaced or forgotten is never called. The type is not copyable, because a link
/// that reads one property might otherwise copy all arrays.
package struct LinkWaiters: ~Copyable, Sendable {
    package typealias Wake = @Sendable () -> Void

    /// A publisher that waits for its turn.
    private struct Sender {
        let id: UInt64
        let wake: Wake
    }

    /// The publishers that wait for room, in the order of their turns.
    private var senders: [Sender] = []
    /// The callers that bring other processes' events for a crowded peer.
    private var crowd: [Wake] = []
    /// The callers that have events for a peer whose published events pile up in the peer's own outbox.
    private var backlog: [Wake] = []
    private var quiet: [Wake] = []
    /// The caller that starts the peer once something waits for it.
    private var demand: Wake?

    package init() {}

    /// The state of a link, as far as it matters to the waiters.
    package struct Standing: Sendable, Hashable {
        /// Whether the link has ended: nothing is left to wait for.
        package let hasEnded: Bool
        package let isCrowded: Bool
        package let isBackedUp: Bool
        package let isQuiet: Bool
        /// How many charged bytes and how many events the outbox holds.
        package let keptBytes: Int
        package let keptEvents: Int
        /// How many charged bytes the outbox holds when publishers begin to wait for room.
        package let outboxBytes: Int

        package init(
            hasEnded: Bool,
            isCrowded: Bool,
            isBackedUp: Bool,
            isQuiet: Bool,
            keptBytes: Int,
            keptEvents: Int,
            outboxBytes: Int
        ) {
            self.hasEnded = hasEnded
            self.isCrowded = isCrowded
            self.isBackedUp = isBackedUp
            self.isQuiet = isQuiet
            self.keptBytes = keptBytes
            self.keptEvents = keptEvents
            self.outboxBytes = outboxBytes
        }

        /// How many waiting publishers would fill the outbox, with events as large as those in it; all if it is empty.
        fileprivate func places(for waiting: Int) -> Int {
            if hasEnded || keptEvents == 0 { return waiting }
            let free = outboxBytes - keptBytes
            guard free > 0 else { return 0 }
            return min(waiting, free / max(keptBytes / keptEvents, LinkLimits.minimumCharge) + 1)
        }
    }

    // MARK: - Who waits

    /// Whether no caller waits, except for demand.
    package var isEmpty: Bool { senders.isEmpty && crowd.isEmpty && backlog.isEmpty && quiet.isEmpty }

    /// Whether a publisher waits for room: it takes room before a publisher that comes later.
    package var areSendersWaiting: Bool { !senders.isEmpty }

    package var isQuietAwaited: Bool { !quiet.isEmpty }

    package var isDemandAwaited: Bool { demand != nil }

    package mutating func waitForRoom(_ id: UInt64, _ wake: @escaping Wake) {
        senders.append(Sender(id: id, wake: wake))
    }

    /// Ends a publisher's wait, and returns the call that wakes it; nil if it does not wait.
    package mutating func cancelWait(for id: UInt64) -> Wake? {
        senders.firstIndex { $0.id == id }.map { senders.remove(at: $0).wake }
    }

    package mutating func waitWhileCrowded(_ wake: @escaping Wake) { crowd.append(wake) }

    package mutating func waitWhileBackedUp(_ wake: @escaping Wake) { backlog.append(wake) }

    package mutating func waitForQuiet(_ wake: @escaping Wake) { quiet.append(wake) }

    /// Lets a caller wait for demand, in place of the caller that waited before.
    package mutating func waitForDemand(_ wake: @escaping Wake) { demand = wake }

    // MARK: - Whose wait is over

    /// Takes out the callers whose wait is over.
    ///
    /// It takes all callers that waited for what has happened. Of the publishers that wait for room it takes those that
    /// have waited longest, as many as would fill the outbox with events like those in it. The other publishers' turn
    /// comes with later acknowledgements, at the latest when the outbox is empty. If the publishers' events are larger,
    /// not all of them find room: then some wait again.
    package mutating func takeWoken(_ standing: Standing) -> [Wake] {
        var woken: [Wake] = []
        let isBackedUp = standing.isBackedUp && !standing.hasEnded
        if standing.hasEnded || !standing.isCrowded { swap(&woken, &crowd) }
        if !isBackedUp {
            woken += backlog
            backlog = []
            let places = standing.places(for: senders.count)
            woken += senders.prefix(places).map(\.wake)
            senders.removeFirst(places)
        }
        if standing.hasEnded || standing.isQuiet {
            woken += quiet
            quiet = []
        }
        return woken
    }

    /// Takes out the publishers that wait for room, so that they check again.
    package mutating func takeSenders() -> [Wake] {
        defer { senders = [] }
        return senders.map(\.wake)
    }

    package mutating func takeDemand() -> Wake? { demand.take() }

    /// There is a peer: no caller has to start it.
    package mutating func forgetDemand() { demand = nil }

    /// Takes out all callers, so that they check again.
    package mutating func takeAll() -> [Wake] {
        let all = senders.map(\.wake) + crowd + backlog + quiet + (demand.map { [$0] } ?? [])
        self = LinkWaiters()
        return all
    }
}
