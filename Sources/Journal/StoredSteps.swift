import CBOR
import DomainEvents
import JournalFormat

/// A portion of steps: records in the bytes that a cursor has read, and the gaps between them.
///
/// The thread that reads a portion only finds the records. The thread that uses the portion makes each event's context
/// from the record's bytes. Otherwise both would count references to the same objects, and slow each other down.
struct StoredSteps: Sequence, IteratorProtocol, @unchecked Sendable {
    // Sendable: what the records refer to is the window, in which no cursor writes while a portion keeps it.
    private var records: [StoredRecord] = []
    /// The gaps, each with the number of the portion's records that come before it.
    private var gaps: [(gap: JournalGap, recordsBefore: Int)] = []
    private var takenRecords = 0
    private var takenGaps = 0
    /// How many records come before the next gap; more than there are if no gap is left.
    private var nextGap = Int.max
    /// The bytes of the records; nil if no cursor has read any.
    private var window: SegmentWindow?
    /// The texts that the records share.
    private var texts = RecordTexts()

    /// Whether a record is among the steps.
    var hasRecords: Bool { !records.isEmpty }

    /// How many steps the portion has, taken or not.
    var count: Int { records.count + gaps.count }

    /// Whether the portion has no steps.
    var isEmpty: Bool { records.isEmpty && gaps.isEmpty }

    init() {}

    /// - Parameter count: for how many records to reserve room.
    init(reserving count: Int) { records.reserveCapacity(count) }

    /// - Parameter checksPayload: whether to check the payload, because it will be decoded as an event's type. The
    ///   reading thread does this, because it has the bytes at hand and less to do than the thread that decodes.
    mutating func append(_ record: RecordView, checksPayload: Bool) {
        guard let payload = record.payload else {
            return append(JournalGap(at: record.position, .undecodable(why: "its parts do not fit")))
        }
        let isChecked = checksPayload && CBORDecoder.isWhole(payload)
        records.append(StoredRecord(view: record, payload: payload, isChecked: isChecked))
    }

    mutating func append(_ gap: JournalGap) {
        if takenGaps == gaps.count { nextGap = records.count }
        gaps.append((gap, records.count))
    }

    /// Keeps the bytes of the records; called once all steps are there.
    mutating func keep(_ window: SegmentWindow) {
        if hasRecords { self.window = window }
    }

    /// Takes the next step; nil if none is left.
    mutating func next() -> StoredStep? {
        if let record = takeRecord() { return .record(record) }
        return takeGap().map { .gap($0) }
    }

    /// Takes the next step if it is a record; copies no gap, because that would count references to the gap's texts.
    mutating func takeRecord() -> StoredRecord? {
        guard takenRecords < records.count, takenRecords < nextGap else { return nil }
        defer { takenRecords += 1 }
        return records[takenRecords]
    }

    /// Takes the next step if it is a gap.
    mutating func takeGap() -> JournalGap? {
        guard takenRecords == nextGap else { return nil }
        defer {
            takenGaps += 1
            nextGap = takenGaps < gaps.count ? gaps[takenGaps].recordsBefore : .max
        }
        return gaps[takenGaps].gap
    }

    /// The name of one of these records.
    mutating func name(of record: StoredRecord) -> String { record.view.name(sharing: &texts) }

    /// The context of one of these records.
    mutating func context(of record: StoredRecord) -> EventContext { record.view.context(sharing: &texts) }

    /// A copy of one of these records, for a reader that does not know the event's type.
    mutating func copy(_ record: StoredRecord) -> JournalRecord {
        JournalRecord(
            position: record.position,
            name: name(of: record),
            context: context(of: record),
            payload: Array(record.payload)
        )
    }
}
