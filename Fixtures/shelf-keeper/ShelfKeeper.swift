import BridgePlatform
import DomainEvents
import Journal

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Shelves and ships boxes, and keeps account of them: `shelf-keeper file|database DIRECTORY STEP EVENTS`.
///
/// With `file` a projection keeps the account, with `database` a database of SQLite, which also has an outbox.
///
/// The process publishes EVENTS events, one after the other, or events without an end if EVENTS is `endless`. It kills
/// itself at step number STEP of `KillPoints`, or not at all if STEP is 0. It writes a byte after each event; except in
/// an endless run, the account has the event by then. At the end the process compares the account with the whole
/// journal, and exits with status 3 if they differ.
@main
struct ShelfKeeper {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let directory = arguments[2]
        let journal = try EventJournal(at: "\(directory)/journal", segmentBytes: 64 << 10)
        let publisher = EventPublisher()
        try journal.record(BoxShelved.self, of: publisher)
        try journal.record(BoxShipped.self, of: publisher)
        try journal.record(BoxLabelled.self, of: publisher)
        let boxes = Boxes(publisher, journal.recovery.lastPosition)
        let count = arguments[4] == "endless" ? nil : Int(arguments[4])
        let isRight =
            switch arguments[1] {
            case "file": try await keepFile(in: directory, journal, boxes, count)
            case "database": try await keepDatabase(in: directory, journal, boxes, publisher, count)
            default: throw UnknownMode()
            }
        await journal.close()
        exit(isRight ? 0 : 3)
    }

    private struct UnknownMode: Error {}

    /// Publishes the next events.
    struct Boxes {
        private let publisher: EventPublisher
        private var number: Int64

        init(_ publisher: EventPublisher, _ position: UInt64) {
            self.publisher = publisher
            number = Int64(clamping: position)
        }

        mutating func publishNext() {
            number += 1
            if number % 3 == 0 {
                publisher.publish(BoxShipped(boxID: number / 2))
            } else {
                publisher.publish(BoxShelved(boxID: number, shelf: "A\(number % 7)"))
            }
        }
    }

    private static func keepFile(
        in directory: String,
        _ journal: EventJournal,
        _ boxes: Boxes,
        _ count: Int?
    ) async throws -> Bool {
        var boxes = boxes
        let storage = try KillingStorage(at: "\(directory)/state", Shelf.kills)
        let saving = ProjectionSaving(positions: 1, pause: .zero)
        let shelf = try journal.project(Shelf(), keptIn: "shelf", of: storage, saving: saving)
        var published = 0
        while published != count {
            boxes.publishNext()
            published += 1
            // An endless run waits only at every 50th event, so that the projection gets several events in one portion.
            if count != nil || published % 50 == 0 { try await shelf.reach(journal.status.lastPosition) }
            try SystemFile.standardOutput.append([0])
        }
        try await shelf.reach(journal.status.lastPosition)
        let state = shelf.state
        try await shelf.close()
        var expected = Shelf()
        for try await step in journal.records(after: 0, follows: false) {
            switch step {
            case .gap(let gap): expected.eventsAreMissing(gap)
            case .event(let record):
                if let event = try record.event(as: BoxShelved.self) {
                    expected.change(at: record.position) { $0[event.boxID] = event.shelf }
                } else if let event = try record.event(as: BoxShipped.self) {
                    expected.change(at: record.position) { $0[event.boxID] = nil }
                }
            }
        }
        return state == expected
    }

    private static func keepDatabase(
        in directory: String,
        _ journal: EventJournal,
        _ boxes: Boxes,
        _ publisher: EventPublisher,
        _ count: Int?
    ) async throws -> Bool {
        var boxes = boxes
        let database = try Database(at: "\(directory)/database")
        let shelf = try DatabaseShelf(database, Shelf.kills)
        let relay = OutboxRelay(database: database, kills: Shelf.kills, publisher: publisher)
        try await relay.begin(with: journal)
        try await shelf.catchUp(with: journal)
        try await relay.relay(into: journal)
        var published = 0
        while published != count {
            boxes.publishNext()
            published += 1
            try await shelf.catchUp(with: journal)
            try await relay.relay(into: journal)
            try SystemFile.standardOutput.append([0])
        }
        try await shelf.catchUp(with: journal)
        return try await isRight(shelf, journal)
    }

    /// Whether each event of the journal is in the database once, and each shelved box has one label, in order.
    private static func isRight(_ shelf: DatabaseShelf, _ journal: EventJournal) async throws -> Bool {
        var digest: Int64 = 17
        var places: [Int64: String] = [:]
        var expected: [BoxLabelled.Content] = []
        var labels: [BoxLabelled.Content] = []
        for try await step in journal.records(after: 0, follows: false) {
            guard case .event(let record) = step else { return false }
            digest = DatabaseShelf.digest(digest, record.position)
            if let event = try record.event(as: BoxShelved.self) {
                places[event.boxID] = event.shelf
                expected.append(.init(boxID: event.boxID, text: "\(event.boxID) on \(event.shelf)"))
            } else if let event = try record.event(as: BoxShipped.self) {
                places[event.boxID] = nil
            } else if let event = try record.event(as: BoxLabelled.self) {
                labels.append(event.content)
            }
        }
        let rows = try shelf.database.execute("SELECT id, shelf FROM boxes ORDER BY id")
        let found = places.sorted { $0.key < $1.key }.map { [.integer($0.key), .text($0.value)] as [Database.Value] }
        return try rows == found && shelf.digest == digest && labels == expected
            && shelf.database.number("SELECT count(*) FROM outbox") == 0
    }
}
