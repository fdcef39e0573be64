import DomainEvents
import Foundation
import Locks

/// The publishers and notification centers through which an event came: none of them gets it once more.
///
/// A notification carries its route in its object. An event has no room for one, so the event that a notification
/// becomes is caused by an identity of the notification's own, whose origin spells the route. It stays on the event on
/// any thread, at any publisher that passes it on and in other processes, and nothing has to be remembered meanwhile.
struct NotificationRoute: Sendable, Equatable {
    private static let prefix = "notification:"
    private static let separator: Character = ":"
    /// Keeps the origin well below the longest name that may cross a link; a longer way is taken for a loop.
    private static let longest = 8

    private let stations: [UInt64]

    /// The route of something that has only just been published or posted.
    static let empty = NotificationRoute(stations: [])

    private init(stations: [UInt64]) {
        self.stations = stations
    }

    /// The way that an event has come, which its cause tells.
    init(of context: EventContext) {
        guard let origin = context.cause?.origin, origin.hasPrefix(Self.prefix) else {
            self = .empty
            return
        }
        stations = origin.dropFirst(Self.prefix.count).split(separator: Self.separator).prefix(Self.longest)
            .compactMap { UInt64($0, radix: 16) }
    }

    /// The route on to the next station; nil if it would go in a circle.
    func going(to station: UInt64) -> NotificationRoute? {
        guard stations.count < Self.longest, !stations.contains(station) else { return nil }
        return NotificationRoute(stations: stations + [station])
    }

    /// Who offers the event that a notification on this route becomes.
    var origin: String {
        Self.prefix + stations.map { String($0, radix: 16) }.joined(separator: String(Self.separator))
    }
}

/// The numbers of notification centers, by which routes know them.
enum NotificationStations {
    private struct Entry {
        weak var center: NotificationCenter?
        let number: UInt64
    }

    private static let lock = Lock()
    // Guarded by `lock`: the compiler cannot see that.
    nonisolated(unsafe) private static var entries: [ObjectIdentifier: Entry] = [:]

    static func number(of center: NotificationCenter) -> UInt64 {
        lock.withLock {
            let key = ObjectIdentifier(center)
            // The address may have been another center's before.
            if let entry = entries[key], entry.center === center { return entry.number }
            entries = entries.filter { $0.value.center != nil }
            let number = UInt64.random(in: 1 ... .max)
            entries[key] = Entry(center: center, number: number)
            return number
        }
    }

    static func number(of publisher: EventPublisher) -> UInt64 { publisher.source.incarnation }
}
