import BridgeProtocol
import CBOR
import DomainEvents

/// Makes entries of one type from records, for one reader.
final class EntryDecoder<E: DomainEvent> {
    private let coder = PayloadCoder<E>()
    private let decoder = CBORDecoder()
    /// The changes for each name; names without changes are not in here.
    private let changes: [EventName: [JournalUpcaster.Change]]

    init(_ upcasters: [JournalUpcaster]) {
        changes = Dictionary(grouping: upcasters) { EventName($0.name) }
            .mapValues { $0.compactMap(\.change) }
            .filter { !$0.value.isEmpty }
    }

    /// The names under which the events of the type lie.
    static func names(_ upcasters: [JournalUpcaster]) -> Set<EventName> {
        EventName.set([E.eventName] + upcasters.map(\.name))
    }

    /// The entry, or a gap if the record does not become an event of the type.
    func step(_ record: JournalRecord) -> JournalStep<JournalEntry<E>> {
        do {
            let payload = try upcast(record)
            let event = try payload.withUnsafeBytes { try coder.decode($0, with: decoder) }
            try event.validate()
            return .event(JournalEntry(position: record.position, event: event, context: record.context))
        } catch {
            // The sentence gives the record's name if that is a former name of the type.
            let name = record.name.hasBytes(of: E.eventName) ? "" : "\(record.name): "
            return .gap(JournalGap(at: record.position, .undecodable(why: name + CBORError.sentence(of: error))))
        }
    }

    private func upcast(_ record: JournalRecord) throws -> [UInt8] {
        guard !changes.isEmpty, let changes = changes[EventName(record.name)] else { return record.payload }
        var fields = try JournalFields(CBORValue(decoding: record.payload))
        for change in changes { try change(&fields) }
        return try fields.value.encoded()
    }
}
