package import DomainEvents

/// The policies of one link, by event name.
package struct OverflowPolicies: Sendable, Hashable {
    /// The key of the policy for every name that has no policy of its own.
    package static let everyOther = "*"

    private let byName: [EventName: OverflowPolicy]
    private let other: OverflowPolicy
    /// Whether every policy is `wait`: the queue before the link's outbox then holds only gaps, and no events.
    package let isPlain: Bool

    package init(_ policies: [String: OverflowPolicy] = [:]) {
        other = policies[Self.everyOther] ?? .wait
        byName = Dictionary(
            uniqueKeysWithValues: policies.filter { $0.key != Self.everyOther }.map { (EventName($0.key), $0.value) }
        )
        isPlain = other == .wait && byName.values.allSatisfy { $0 == .wait }
    }

    package func policy(of name: String) -> OverflowPolicy { isPlain ? .wait : byName[EventName(name)] ?? other }
}
