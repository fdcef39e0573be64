package import DomainEvents

/// The handled requests with their answers, so that a request that comes again is not done again.
///
/// An event comes again, under its old identity, if the worker died before its acknowledgement was recorded. The
/// event's record is kept beside the state, in one file that is written as a whole, so the work and its record cannot
/// come apart. With its first request, a process reads this file as a whole, so it has everything that the process
/// before it did.
///
/// A record is forgotten
/// - when its origin says that the event is settled (`settledBelow`, which is about one incarnation of the origin);
/// - when it is from an earlier incarnation of the host: events that the host had not delivered before it ended died
///   with the host, and do not come again. This rule does not hold for events of other workers: the host keeps the
///   events that it accepted from a dead worker, and may send them after events of that worker's successor;
/// - when it is the oldest of more than ``limit``: only events that were sent and not yet acknowledged can come again,
///   at most a window of 4,096 events.
///
/// A host that starts anew counts from 1 again, but with another incarnation: identities never repeat.
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
