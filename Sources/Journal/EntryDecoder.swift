import BridgeProtocol
import CBOR
public import DomainEvents

/// Makes entries of one type from records, for one reader.
@usableFromInline
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

    /// The entry of the record that a reader took last, or a gap if the record does not become an event of the type.
    @inlinable
    func step(_ reading: JournalReading) -> JournalStep<JournalEntry<E>> {
        do {
            let event = try self.event(in: reading)
            return .event(JournalEntry(position: reading.position, event: event, context: reading.makeContext()))
        } catch {
            return .gap(gap(in: reading, error))
        }
    }

    /// The event itself; `step` makes the entry around it, inlined into the module that knows the type's size.
    @usableFromInline
    func event(in reading: JournalReading) throws -> E { try event(of: reading.record) }

    @usableFromInline
    func gap(in reading: JournalReading, _ error: any Error) -> JournalGap { gap(in: reading.record, error) }

    func event(of record: StoredRecord) throws -> E {
        try event(named: record.name, record.payload, isChecked: record.isChecked)
    }

    func gap(in record: StoredRecord, _ error: any Error) -> JournalGap {
        gap(at: record.position, named: record.name, error)
    }

    func event(
        named name: @autoclosure () -> String,
        _ payload: UnsafeRawBufferPointer,
        isChecked: Bool = false
    ) throws -> E {
        let event =
            if let changed = try upcast(name(), payload) {
                try changed.withUnsafeBytes { try coder.decode($0, with: decoder) }
            } else {
                try coder.decode(payload, with: decoder, isChecked: isChecked)
            }
        try event.validate()
        return event
    }

    func gap(at position: UInt64, named name: String, _ error: any Error) -> JournalGap {
        // The sentence gives the record's name if that is a former name of the type.
        let former = name.hasBytes(of: E.eventName) ? "" : "\(name): "
        return JournalGap(at: position, .undecodable(why: former + CBORError.sentence(of: error)))
    }

    /// The payload after the changes of its record's name; nil if the name has no changes.
    private func upcast(_ name: @autoclosure () -> String, _ payload: UnsafeRawBufferPointer) throws -> [UInt8]? {
        guard !changes.isEmpty, let changes = changes[EventName(name())] else { return nil }
        var fields = try JournalFields(CBORValue(decoding: payload))
        for change in changes { try change(&fields) }
        return try fields.value.encoded()
    }
}
