/// The promise about the events of a kind on their way from one party to another; only this type defines it.
package enum ChaosPromise: Sendable, Hashable {
    /// Each event is handled in order, or becomes a dead letter, or is announced as dropped by name and count.
    case settled
    /// The same, but a policy drops so many events that the checker does not remember each of them.
    case droppable
    /// The newest event is handled; older ones may be left out for it.
    case latest
    /// While the receiver is attached, events come in order, and a gap marks the missing ones. Nothing else is
    /// promised.
    case attached

    package init(_ kind: ChaosKind, from origin: Party, to receiver: Party) {
        self =
            switch (kind, receiver) {
            // These events are few, and their caller may not know whether they were published: each is remembered.
            case (.errand, _), (.question, _): .settled
            case (_, .witness), (.oldest, _), (.newest, _): .droppable
            case _ where origin == .client || receiver == .client: .attached
            case (.latest, _): .latest
            default: .settled
            }
    }
}
