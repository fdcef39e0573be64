import BridgePlatform
import DomainEvents
import Journal

/// Publishes numbered events that a journal records, and writes each number to standard output once `publish` has
/// returned, until the process is killed: `journal-writer DIRECTORY`.
@main
struct JournalWriter {
    struct Numbered: DomainEvent {
        let number: UInt64
    }

    static func main() throws {
        let journal = try EventJournal(at: CommandLine.arguments[1], segmentBytes: 64 << 10)
        let publisher = EventPublisher()
        try journal.record(Numbered.self, of: publisher)
        var number = journal.recovery.lastPosition
        while true {
            number += 1
            publisher.publish(Numbered(number: number))
            try SystemFile.standardOutput.append(withUnsafeBytes(of: number.littleEndian) { Array($0) })
        }
    }
}
