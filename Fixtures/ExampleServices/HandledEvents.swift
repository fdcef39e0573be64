package import DomainEvents

/// Which requests were handled, and how they were answered, so that one that comes again is not done again.
///
/// An event comes again, under its old identity, if the worker died before its acknowledgement was recorded. Its record
/// is kept beside the state, in one file that is written in one piece: the work and the memory of it cannot come apart.
/// They are read in one piece too, with a process's first request: what the process before it has done until its end is
/// among them.
///
/// A record is forgotten
/// - when its origin says that the event is settled (`settledBelow`, which speaks of one start of the origin's
///   process);
/// - when it is from an earlier start of the host: what the host had not delivered before it ended died with it, so
///   none of that comes again. Events of other workers are not judged like this: the host keeps what it accepted from a
///   worker that died since, and may send it after events of that worker's successor;
/// - when it is the oldest of more than ``limit``: only what is written and not yet acknowledged can come again, and
///   that is never more than the window, 4,096 events.
///
/// A host that starts anew begins to count at 1 again, but with another incarnation: identities never repeat.
package struct HandledEvents: Codable, Sendable {
    package struct Record: Codable, Sendable {
        let origin: String
        let incarnation: UInt64
        let number: UInt64
        let outcomes: [ProvisioningOutcome]

        func isOf(_ id: EventID) -> Bool {
            number == id.number && incarnation == id.incarnation && origin == id.origin
        }
    }

    /// Twice the window.
    package static let limit = 8192

    private static let hostOrigin = "host"

    package private(set) var records: [Record] = []

    package init() {}

    /// How the event was answered; nil if it has not been handled.
    package func outcomes(of id: EventID) -> [ProvisioningOutcome]? {
        records.last { $0.isOf(id) }?.outcomes
    }

    package mutating func remember(
        _ outcomes: [ProvisioningOutcome],
        of context: EventContext,
        limit: Int = HandledEvents.limit
    ) {
        let id = context.id
        let settledBelow = context.settledBelow ?? 0
        records.removeAll { record in
            guard record.origin == id.origin else { return false }
            if record.incarnation == id.incarnation { return record.number < settledBelow }
            return record.origin == Self.hostOrigin
        }
        records.append(
            Record(origin: id.origin, incarnation: id.incarnation, number: id.number, outcomes: outcomes)
        )
        if records.count > limit { records.removeFirst(records.count - limit) }
    }
}
