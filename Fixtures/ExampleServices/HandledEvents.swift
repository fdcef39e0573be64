package import DomainEvents

/// The handled requests with their answers, so that a request that comes again is not done again.
///
/// An event comes again, under its old identity, if the worker died before its acknowledgement had arrived. The event's
/// record is kept beside the state, in one file that is written as a whole, so the work and its record cannot come
/// apart. With its first request, a process reads this file as a whole, so it knows everything that the process before
/// it has done.
///
/// A record is forgotten
/// - when its origin says that the event is settled (`settledBelow`, which is about one incarnation of the origin);
/// - when it is the oldest of more than ``limit``: only events that were sent and not yet acknowledged can come again,
///   at most a window of 4,096 events, and events come again in their order.
///
/// An origin's records stay when a later incarnation of the origin comes. A host keeps the events of a dead worker, and
/// may send them after events of the worker's successor. A host with a journal also delivers the events that a killed
/// host had not delivered, under the identities that the killed host gave them.
///
/// A host that starts anew numbers its events from 1 again, but with another incarnation: identities never repeat.
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

    /// How many records are kept at most: twice the window.
    package static let limit = 8192

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
            record.origin == id.origin && record.incarnation == id.incarnation && record.number < settledBelow
        }
        records.append(
            Record(origin: id.origin, incarnation: id.incarnation, number: id.number, outcomes: outcomes)
        )
        if records.count > limit { records.removeFirst(records.count - limit) }
    }
}
