import BridgePlatform
import DomainEvents
import FoundationEssentials
import Journal

/// A journal in a directory of its own, which is removed after the journey.
struct PathJournal: Sendable {
    private let path: String
    private let journal: EventJournal

    /// Makes a journal that records the events of one type, and the answers to them.
    init<Event: DomainEvent>(of type: Event.Type, _ publisher: EventPublisher) throws {
        path = try PrivateDirectory.make(named: "event-path").path
        journal = try EventJournal(at: path)
        try journal.record(type, of: publisher)
        try journal.record(PathReturned.self, of: publisher)
    }

    func end() async throws {
        await journal.close()
        try FileManager.default.removeItem(atPath: path)
    }
}
