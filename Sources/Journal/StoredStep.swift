public import DomainEvents

/// What a reader finds next; an event is not yet decoded as its type.
@usableFromInline
enum StoredStep: Sendable {
    case record(StoredRecord)
    case gap(JournalGap)
}

/// An event as a cursor finds it: its payload lies among the payloads of its portion, so that no event needs an array.
@usableFromInline
struct StoredRecord: Sendable {
    @usableFromInline let position: UInt64
    let name: String
    @usableFromInline let context: EventContext
    /// Where the payload lies among the payloads of the portion.
    let payload: Range<Int>

    init(position: UInt64, name: String, context: EventContext, payload: Range<Int>) {
        self.position = position
        self.name = name
        self.context = context
        self.payload = payload
    }

    /// A record whose payload is all that its portion has.
    init(_ record: JournalRecord) {
        self.init(
            position: record.position,
            name: record.name,
            context: record.context,
            payload: record.payload.indices
        )
    }

    /// The record with its payload, which is copied from the payloads of its portion.
    func withPayload(from payloads: [UInt8]) -> JournalRecord {
        JournalRecord(position: position, name: name, context: context, payload: Array(payloads[payload]))
    }
}
