import DomainEvents
import Foundation
import Locks

/// The publishers and notification centers that an event has come through; none of them gets it again.
///
/// A notification carries its route in its object. An event has no room for a route. So the adapter makes an identity
/// for the notification: the identity's origin spells the route, and the identity is the event's cause. The event keeps
/// its cause on any thread, in other processes, and at any publisher that passes the event on. So no adapter has to
/// remember the routes of events.
struct NotificationRoute: Sendable, Equatable {
    private static let prefix = "notification:"
    private static let separator: Character = ":"
    /// The most stations of a route; a longer route counts as a loop, so an origin stays well below the longest name.
    private static let longest = 8

    private let stations: [UInt64]

    /// The route of an event that was just published, or a notification that was just posted.
    static let empty = NotificationRoute(stations: [])

    private init(stations: [UInt64]) {
        self.stations = stations
    }

    /// Reads an event's route from its cause.
    init(of context: EventContext) {
        guard let origin = context.cause?.origin, origin.hasPrefix(Self.prefix) else {
            self = .empty
            return
        }
        stations = origin.dropFirst(Self.prefix.count).split(separator: Self.separator).prefix(Self.longest)
            .compactMap { UInt64($0, radix: 16) }
    }

    /// The route with the next station; nil if it would go in a circle.
    func going(to station: UInt64) -> NotificationRoute? {
        guard stations.count < Self.longest, !stations.contains(station) else { return nil }
        return NotificationRoute(stations: stations + [station])
    }

    /// The origin that spells the route; it goes into the cause of the event that the notification becomes.
    var origin: String {
        Self.prefix + stations.map { String($0, radix: 16) }.joined(separator: String(Self.separator))
    }
}

/// The numbers by which routes know publishers and notification centers.
enum NotificationStations {
    private static let lock = Lock()
    // Guarded by `lock`, which the compiler cannot see.
    nonisolated(unsafe) private static var numbers = WeakTable<NotificationCenter, UInt64>()

    static func number(of center: NotificationCenter) -> UInt64 {
        let (number, living): (UInt64, [NotificationCenter]) = lock.withLock {
            let key = ObjectIdentifier(center)
            if let known = numbers[key] { return (known.value, []) }
            let living = numbers.removeDead().living
            let number = UInt64.random(in: 1 ... .max)
            numbers.insert(center, number, for: key)
            return (number, living)
        }
        // These may be the last references to other centers and their observers, so they are released without the lock.
        withExtendedLifetime(living) {}
        return number
    }

    static func number(of publisher: EventPublisher) -> UInt64 { publisher.source.incarnation }
}
