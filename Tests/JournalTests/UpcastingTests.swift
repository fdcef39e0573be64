import CBOR
import DomainEvents
import Testing

@testable import Journal

@Suite("Older forms of events in a journal")
struct UpcastingTests {
    struct BoxShelved: DomainEvent, Hashable {
        let boxID: Int64
        let shelf: String
        var row: Int?
    }

    /// Payloads as earlier programs have written them; they never change.
    private enum Golden {
        /// A `BoxPutAway` with the number 7 and the place A3.
        static let putAway: [UInt8] = [
            0xA2, 0x65, 0x62, 0x6F, 0x78, 0x49, 0x44, 0x07, 0x65, 0x70, 0x6C, 0x61, 0x63, 0x65, 0x62, 0x41, 0x33,
        ]
        /// A `BoxStored` with the number 8 and the shelf B1.
        static let stored: [UInt8] = [
            0xA2, 0x65, 0x62, 0x6F, 0x78, 0x49, 0x44, 0x08, 0x65, 0x73, 0x68, 0x65, 0x6C, 0x66, 0x62, 0x42, 0x31,
        ]
        /// An early `BoxShelved`, with the number 9 as a text and the shelf C2.
        static let early: [UInt8] = [
            0xA2, 0x65, 0x62, 0x6F, 0x78, 0x49, 0x44, 0x61, 0x39, 0x65, 0x73, 0x68, 0x65, 0x6C, 0x66, 0x62, 0x43, 0x32,
        ]
    }

    private struct NoPlace: Error {}

    private static let upcasters: [JournalUpcaster] = [
        .from("BoxStored"),
        .from("BoxPutAway") { fields in
            guard let place: String = try fields.value(of: "place"), place != "nowhere" else { throw NoPlace() }
            fields.rename("place", to: "shelf")
        },
        // Two steps for one name come in their order.
        .from("BoxPutAway") { fields in try fields.set("row", to: 4) },
        .from("BoxShelved") { fields in
            if let text = try? fields.value(of: "boxID", as: String.self) { try fields.set("boxID", to: Int64(text)) }
        },
    ]

    private static func journal(_ records: [(name: String, payload: [UInt8])]) throws -> (EventJournal, ScratchJournal)
    {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        for (index, record) in records.enumerated() {
            _ = try journal.core.append(
                record.payload,
                name: record.name,
                context: .of(UInt64(index + 1)),
                whenSettled: nil
            )
        }
        return (journal, scratch)
    }

    @Test(
        "J16: golden records under former names, and of an early form, are read in their order",
        .timeLimit(.minutes(1))
    )
    func golden() async throws {
        let (journal, scratch) = try Self.journal([
            ("BoxPutAway", Golden.putAway), ("Other", [0xA0]), ("BoxShelved", Golden.early),
            ("BoxStored", Golden.stored),
        ])
        let publisher = EventPublisher()
        try journal.record(BoxShelved.self, of: publisher)
        publisher.publish(BoxShelved(boxID: 10, shelf: "D1", row: 2))
        var found: [UInt64: BoxShelved] = [:]
        let events = journal.events(of: BoxShelved.self, after: 0, upcasting: Self.upcasters, follows: false)
        for try await step in events {
            guard case .event(let entry) = step else { throw NoPlace() }
            found[entry.position] = entry.event
        }
        #expect(
            found == [
                1: BoxShelved(boxID: 7, shelf: "A3", row: 4), 3: BoxShelved(boxID: 9, shelf: "C2"),
                4: BoxShelved(boxID: 8, shelf: "B1"), 5: BoxShelved(boxID: 10, shelf: "D1", row: 2),
            ]
        )
        // Without upcasters, only the records of the present name and form are events of the type.
        var steps: [String] = []
        for try await step in journal.events(of: BoxShelved.self, after: 0, follows: false) {
            switch step {
            case .event(let entry): steps.append("\(entry.position)")
            case .gap(let gap): steps.append(gap.description)
            }
        }
        let missing =
            "the event at position 3 is missing: Expected an integer (Int64) but found a text string at boxID."
        #expect(steps == [missing, "5"])
        await journal.close()
        withExtendedLifetime(scratch) {}
    }

    @Test(
        "J16: an upcaster that throws, or gets what it cannot read, makes a gap with position and reason; the next goes on",
        .timeLimit(.minutes(1))
    )
    func throwing() async throws {
        let nowhere: [UInt8] = [0xA1, 0x65] + "place".utf8 + [0x67] + "nowhere".utf8
        let number: [UInt8] = [0xA1, 0x65] + "place".utf8 + [0x05]
        let (journal, scratch) = try Self.journal([
            ("BoxPutAway", nowhere), ("BoxPutAway", number), ("BoxPutAway", [0x05]), ("BoxPutAway", [0xFF]),
            ("BoxPutAway", Golden.putAway),
        ])
        var steps: [String] = []
        let events = journal.events(of: BoxShelved.self, after: 0, upcasting: Self.upcasters, follows: false)
        for try await step in events {
            switch step {
            case .event(let entry): steps.append(entry.event.shelf)
            case .gap(let gap):
                #expect(gap.count == 1)
                steps.append(gap.description)
            }
        }
        try #require(steps.count == 5)
        #expect(steps.first == "the event at position 1 is missing: BoxPutAway: NoPlace()")
        #expect(steps[1].hasPrefix("the event at position 2 is missing: BoxPutAway: the field place: Expected"))
        #expect(steps[2].hasPrefix("the event at position 3 is missing: BoxPutAway: the event has no fields"))
        #expect(steps[3].hasPrefix("the event at position 4 is missing: BoxPutAway: "))
        #expect(steps.last == "A3")
        await journal.close()
        withExtendedLifetime(scratch) {}
    }

    @Test("A record becomes an event by its name; one that does not decode is told", .timeLimit(.minutes(1)))
    func records() async throws {
        let (journal, scratch) = try Self.journal([
            ("BoxStored", Golden.stored), ("Other", [0xA0]), ("BoxShelved", Golden.early),
        ])
        var found: [String] = []
        for try await case .event(let record) in journal.records(after: 0, follows: false) {
            do {
                let event = try record.event(as: BoxShelved.self, upcasting: [.from("BoxStored")])
                found.append(event.map { "\($0.boxID)" } ?? "another type")
            } catch {
                #expect(error.code == .undecodable)
                found.append("\(error)")
            }
        }
        #expect(found.prefix(2) == ["8", "another type"])
        #expect(found.last?.contains("position 3") == true)
        await journal.close()
        withExtendedLifetime(scratch) {}
    }

    @Test("Fields are renamed, set and removed without a second field of the same name")
    func fields() throws {
        var fields = try JournalFields(
            .map([
                .init(key: .text("a"), value: .unsigned(1)), .init(key: .text("b"), value: .null),
                .init(key: .unsigned(5), value: .bool(true)),
            ])
        )
        #expect(fields.names == ["a", "b"])
        #expect(try fields.value(of: "b", as: Int.self) == nil)
        fields.rename("a", to: "b")
        fields.rename("missing", to: "a")
        #expect(try fields.value(of: "b", as: Int.self) == 1)
        try fields.set("c", to: ["x", "y"])
        try fields.set("c", to: ["z"])
        fields.remove("missing")
        #expect(fields.names == ["b", "c"])
        #expect(try fields.value(of: "c", as: [String].self) == ["z"])
        fields.remove("c")
        #expect(
            fields.value
                == .map([
                    .init(key: .text("b"), value: .unsigned(1)), .init(key: .unsigned(5), value: .bool(true)),
                ])
        )
    }
}
