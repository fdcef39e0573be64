/// How many events wait for one consumer of a sequence, and what happens to those that are too many.
///
/// Nothing is lost in silence: what does not fit shows up in its place in the sequence, as a thrown ``EventsMissed`` or
/// an in-band ``EventGap``.
public struct EventBuffering<E: DomainEvent>: Sendable {
    enum Policy: Sendable {
        case waiting
        case newest
        case oldest
        case latest(key: @Sendable (E) -> AnyHashable)
    }

    let policy: Policy
    /// How many events wait before the policy acts.
    let limit: Int
    /// How many wait at most.
    let hardLimit: Int

    /// A buffer takes up to so many times its limit from callers that do not wait.
    public static var hardLimitFactor: Int { 16 }

    /// Events wait up to `limit`; then ``EventPublisher/send(_:)`` waits for the consumer.
    ///
    /// `publish` never waits: it goes on to 16 times the limit, and beyond that the consumer misses the newest. No
    /// caller waits for a sequence that was never iterated.
    /// - Precondition: `limit` is at least 1.
    public static func waiting(_ limit: Int = 4_096) -> EventBuffering {
        let (hard, overflow) = limit.multipliedReportingOverflow(by: hardLimitFactor)
        return EventBuffering(.waiting, limit: limit, hardLimit: overflow ? .max : hard)
    }

    /// The newest `limit` events wait; older ones are missed.
    ///
    /// No sender waits for the consumer.
    /// - Precondition: `limit` is at least 1.
    public static func newest(_ limit: Int) -> EventBuffering {
        EventBuffering(.newest, limit: limit, hardLimit: limit)
    }

    /// The oldest `limit` events wait; younger ones are missed until the consumer has made room.
    ///
    /// No sender waits for the consumer.
    /// - Precondition: `limit` is at least 1.
    public static func oldest(_ limit: Int) -> EventBuffering {
        EventBuffering(.oldest, limit: limit, hardLimit: limit)
    }

    /// Of the events with one key only the latest waits, in the place of the first of them.
    ///
    /// With more than `limit` keys the oldest event is missed; what a younger event has replaced counts as chosen, not
    /// as missed. No sender waits for the consumer.
    /// - Parameters:
    ///   - limit: how many keys may wait.
    ///   - key: called on the publishing thread, once for each event. Its result's `==` and `hash(into:)` must neither
    ///     publish nor wait for anything.
    /// - Precondition: `limit` is at least 1.
    public static func latest<Key: Hashable & Sendable>(
        limit: Int = 4_096,
        by key: @escaping @Sendable (E) -> Key
    ) -> EventBuffering {
        EventBuffering(.latest { AnyHashable(key($0)) }, limit: limit, hardLimit: limit)
    }

    private init(_ policy: Policy, limit: Int, hardLimit: Int) {
        precondition(
            limit >= 1,
            "a buffer for \(E.eventName) has room for \(limit) events; it needs room for one at least"
        )
        self.policy = policy
        self.limit = limit
        self.hardLimit = hardLimit
    }
}
