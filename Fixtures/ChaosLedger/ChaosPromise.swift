/// The promise about the events of a kind on their way from one party to another; only this type defines it.
package enum ChaosPromise: Sendable, Hashable {
    /// Each event is handled, or dead-lettered, or announced as dropped by name and count; in order.
    case settled
    /// The same, with a policy that drops: far too many dropped events to remember each.
    case droppable
    /// The newest event is handled; older ones may be left out for it.
    case latest
    /// In order while attached: an event that is missing between two is marked as a gap. Nothing else.
    case attached

    package init(_ kind: ChaosKind, from origin: Party, to receiver: Party) {
        self =
            switch (kind, receiver) {
            // These are few, and their caller may not know whether they have left: each is remembered.
            case (.errand, _), (.question, _): .settled
            case (_, .witness), (.oldest, _), (.newest, _): .droppable
            case _ where origin == .client || receiver == .client: .attached
            case (.latest, _): .latest
            default: .settled
            }
    }
}
