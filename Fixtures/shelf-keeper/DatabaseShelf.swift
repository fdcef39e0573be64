import CBOR
import Journal

/// The boxes on a shelf in a database.
///
/// For each event, one transaction changes the boxes and stores the event's position.
/// A box that is shelved gets a label. The label is an event that this program publishes: the same transaction puts it
/// into the table `outbox`, where it waits until the ``OutboxRelay`` has published it.
struct DatabaseShelf {
    let database: Database
    let kills: KillPoints

    init(_ database: Database, _ kills: KillPoints) throws {
        self.database = database
        self.kills = kills
        try database.execute("CREATE TABLE IF NOT EXISTS boxes (id INTEGER PRIMARY KEY, shelf TEXT NOT NULL)")
        // With AUTOINCREMENT, the number of a removed row is never given again.
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS outbox
            (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, payload BLOB NOT NULL)
            """
        )
        try database.execute(
            "CREATE TABLE IF NOT EXISTS positions (reader TEXT PRIMARY KEY, position INTEGER NOT NULL, digest INTEGER)"
        )
        try database.execute("INSERT OR IGNORE INTO positions VALUES ('shelf', 0, 17), ('relay', 0, 0)")
    }

    var position: UInt64 {
        get throws { UInt64(try database.number("SELECT position FROM positions WHERE reader = 'shelf'")) }
    }

    /// A digest of all applied events; differs if an event came twice, not at all, or in another order.
    var digest: Int64 { get throws { try database.number("SELECT digest FROM positions WHERE reader = 'shelf'") } }

    static func digest(_ before: Int64, _ position: UInt64) -> Int64 {
        before &* 31 &+ Int64(truncatingIfNeeded: position)
    }

    /// Applies the events of a journal after the position that the database has.
    func catchUp(with journal: EventJournal) async throws {
        for try await step in journal.records(after: try position, follows: false) {
            guard case .event(let record) = step else { throw Database.Failure(description: "\(step)") }
            try apply(record)
        }
    }

    private func apply(_ record: JournalRecord) throws {
        try database.transaction {
            if let shelved = try record.event(as: BoxShelved.self) {
                try change("INSERT OR REPLACE INTO boxes VALUES (?, ?)", .integer(shelved.boxID), .text(shelved.shelf))
                let label = BoxLabelled.Content(boxID: shelved.boxID, text: "\(shelved.boxID) on \(shelved.shelf)")
                try change(
                    "INSERT INTO outbox (name, payload) VALUES ('BoxLabelled', ?)",
                    .blob(try CBOREncoder().encode(label))
                )
            } else if let shipped = try record.event(as: BoxShipped.self) {
                try change("DELETE FROM boxes WHERE id = ?", .integer(shipped.boxID))
            }
            try change(
                "UPDATE positions SET position = ?, digest = ? WHERE reader = 'shelf'",
                .integer(Int64(clamping: record.position)),
                .integer(Self.digest(try digest, record.position))
            )
        }
        kills.pass()
    }

    private func change(_ sql: String, _ values: Database.Value...) throws {
        kills.pass()
        try database.execute(sql, values)
        kills.pass()
    }
}

extension Database {
    /// The one number that a query finds.
    func number(_ sql: String) throws -> Int64 {
        guard let number = try execute(sql, []).first?.first?.integer else {
            throw Failure(description: "\(sql): no number")
        }
        return number
    }
}
