/// How many events wait for one consumer of a sequence, and what happens to further events.
///
/// The consumer learns of every loss: events that do not fit show up at their place in the sequence, as a thrown
/// ``EventsMissed`` or an in-band ``EventGap``.
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
    /// How many events wait at most.
    let hardLimit: Int

    /// A ``waiting(_:)`` buffer takes up to this many times its limit from callers that do not wait.
    public static var hardLimitFactor: Int { 16 }

    /// Up to `limit` events wait; then ``EventPublisher/send(_:)-(E)`` waits for the consumer.
    ///
    /// `publish` does not wait for the consumer: it fills the buffer to 16 times the limit, and beyond that the
    /// consumer misses the newest events. No caller waits for a sequence that was never iterated.
    /// - Precondition: `limit` is at least 1.
    public static func waiting(_ limit: Int = 4_096) -> EventBuffering {
        let (hard, overflow) = limit.multipliedReportingOverflow(by: hardLimitFactor)
        return EventBuffering(.waiting, limit: limit, hardLimit: overflow ? .max : hard)
    }

    /// The newest `limit` events wait; the consumer misses older events.
    ///
    /// No sender waits for the consumer.
    /// - Precondition: `limit` is at least 1.
    public static func newest(_ limit: Int) -> EventBuffering {
        EventBuffering(.newest, limit: limit, hardLimit: limit)
    }

    /// The oldest `limit` events wait; the consumer misses younger events until it has made room.
    ///
    /// No sender waits for the consumer.
    /// - Precondition: `limit` is at least 1.
    public static func oldest(_ limit: Int) -> EventBuffering {
        EventBuffering(.oldest, limit: limit, hardLimit: limit)
    }

    /// Of the events with the same key, only the latest waits, at the place of the first.
    ///
    /// With more than `limit` keys, the consumer misses the oldest event. An event that a younger event has replaced
    /// does not count as missed. No sender waits for the consumer.
    /// - Parameters:
    ///   - limit: how many keys may wait.
    ///   - key: called once for each event, on the thread that publishes or receives it. `==` and `hash(into:)` of its
    ///     result must neither publish nor wait.
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
