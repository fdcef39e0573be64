import CBOR
import DomainEvents
import Journal

/// Publishes the events that transactions have put into the table `outbox`, in their order, each once.
///
/// A row is removed after its event was published. If the process is killed in between, the row is there at the next
/// start. So the relay first looks which rows the journal has already: an event carries the number of its row.
struct OutboxRelay {
    let database: Database
    let kills: KillPoints
    let publisher: EventPublisher

    /// Removes the rows whose events are in the journal; this comes before any other call.
    func begin(with journal: EventJournal) async throws {
        let position = UInt64(try database.number("SELECT position FROM positions WHERE reader = 'relay'"))
        var last: (row: Int64, position: UInt64)?
        for try await step in journal.events(of: BoxLabelled.self, after: position, follows: false) {
            guard case .event(let entry) = step else { throw Database.Failure(description: "\(step)") }
            last = (entry.event.row, entry.position)
        }
        if let last { try remove(upTo: last.row, at: last.position) }
    }

    /// Publishes the rows that wait.
    ///
    /// - Throws: also if the journal has not recorded an event, whose row then stays.
    func relay(into journal: EventJournal) async throws {
        for row in try database.execute("SELECT id, name, payload FROM outbox ORDER BY id") {
            guard let id = row[0].integer, row[1].text == "BoxLabelled", let payload = row[2].blob else {
                throw Database.Failure(description: "the row \(row) is no event of this program")
            }
            let content = try CBORDecoder().decode(BoxLabelled.Content.self, from: payload)
            kills.pass()
            try await publisher.deliver(BoxLabelled(row: id, content: content), within: .seconds(60))
            kills.pass()
            // The event is in the journal now, at this position or before it.
            try remove(upTo: id, at: journal.status.lastPosition)
        }
    }

    private func remove(upTo row: Int64, at position: UInt64) throws {
        try database.transaction {
            try database.execute("DELETE FROM outbox WHERE id <= ?", .integer(row))
            kills.pass()
            try database.execute(
                "UPDATE positions SET position = ? WHERE reader = 'relay'",
                .integer(Int64(clamping: position))
            )
            kills.pass()
        }
        kills.pass()
    }
}
