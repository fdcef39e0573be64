import JournalFormat

/// What a reader finds next; an event is not yet decoded as its type.
enum StoredStep {
    case record(StoredRecord)
    case gap(JournalGap)
}

/// An event as a cursor finds it; its bytes lie where they were read, as long as the portion is there.
struct StoredRecord {
    let view: RecordView
    let payload: UnsafeRawBufferPointer
    /// Whether the payload was checked and is whole CBOR, so that only the event's type can still refuse it.
    let isChecked: Bool

    var position: UInt64 { view.position }
    var name: String { view.name }
}
