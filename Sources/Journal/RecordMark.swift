import DomainEvents
import JournalFormat

/// Which event a journal has at a position, whatever its name.
///
/// An incarnation is a random number of 64 bits, so it tells the origin, too.
struct RecordMark: Codable, Hashable, Sendable {
    let position: UInt64
    let incarnation: UInt64
    let number: UInt64

    init(_ record: RecordView) {
        position = record.position
        incarnation = record.incarnation
        number = record.number
    }
}
