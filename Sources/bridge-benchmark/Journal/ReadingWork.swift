import BridgePlatform
import CBOR
import DomainEvents
import Journal

/// Reads a history from its beginning: events as values, by `Codable` or by their layout, and records in CBOR.
///
/// The comparison is SQLite with `Codable`'s decoder.
enum ReadingWork {
    /// - Parameter count: how many events the history has.
    static func run(count: Int64) async throws {
        try await BenchmarkDirectory.with { directory in
            let journal = try EventJournal(at: directory.path + "/journal")
            let publisher = EventPublisher()
            try journal.record(BenchmarkRecord.self, of: publisher)
            for number in 0..<count { publisher.publish(BenchmarkRecord(number)) }
            var rounds = JournalRounds("journal-replay")
            rounds.add("event-bridge") { _ in
                try await measure(count) { try await readValues(BenchmarkRecord.self, in: journal) }
            }
            rounds.add("event-bridge-layout") { _ in
                try await measure(count) { try await readValues(BenchmarkLaidOutRecord.self, in: journal) }
            }
            rounds.add("event-bridge-cbor") { _ in
                try await measure(count) {
                    var number: Int64 = 0
                    for try await step in journal.records(after: 0, follows: false) {
                        guard case .event(let record) = step, record.payload.count == BenchmarkRecord.payloadBytes
                        else {
                            Report.fail("found \(step), expected \(BenchmarkRecord.payloadBytes) bytes of an event")
                        }
                        number += 1
                    }
                    return number
                }
            }
            rounds.add("sqlite", { try filled(directory.path + "/sqlite", count) }) { store in
                let decoder = CBORDecoder()
                let begin = MonotonicClock.now()
                var number: Int64 = 0
                try store.read { position, payload in
                    number += 1
                    guard position == number else { Report.fail("found row \(position), expected row \(number)") }
                    try decoder.decode(BenchmarkRecord.self, from: payload).check(number - 1)
                }
                return figures(number, count, from: begin)
            }
            try await rounds.run(counts: [("n", Int(count))])
            await journal.close()
        }
    }

    private static func readValues<E: FilledEvent>(_ type: E.Type, in journal: EventJournal) async throws -> Int64 {
        var number: Int64 = 0
        for try await step in journal.events(of: type, after: 0, follows: false) {
            guard case .event(let entry) = step else { Report.fail("found \(step), expected an event") }
            entry.event.check(number)
            number += 1
        }
        return number
    }

    private static func filled(_ path: String, _ count: Int64) throws -> SQLiteStore {
        let store = try SQLiteStore(at: path, .normal)
        try store.transaction {
            for number in 0..<count { try store.insert(BenchmarkRecord.payload(number)) }
        }
        return store
    }

    private static func measure(
        _ count: Int64,
        _ body: () async throws -> Int64
    ) async throws -> [JournalRounds.Figure] {
        let begin = MonotonicClock.now()
        return figures(try await body(), count, from: begin)
    }

    private static func figures(_ read: Int64, _ count: Int64, from begin: UInt64) -> [JournalRounds.Figure] {
        let seconds = Double(MonotonicClock.now() - begin) / 1e9
        guard read == count else { Report.fail("read \(read) events where \(count) were expected") }
        return [("events_per_s", Double(count) / seconds)]
    }
}
