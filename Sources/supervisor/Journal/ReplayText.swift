import BridgePlatform
import CBOR
import DomainEvents
import Journal

/// The printed form of a replay's outcome, and of the events that the worker has refused.
enum ReplayText {
    /// One line, such as `12  BoxShelved host-5f3a-7 was refused: not today`.
    static func refused(_ record: JournalRecord, _ reason: String?, isJSON: Bool) -> String {
        if isJSON {
            var line = JSONLine()
            line.add("journal", .text("refused"))
            line.add("position", .unsigned(record.position))
            line.add("type", .text(record.name))
            line.add("id", .text(record.context.id.description))
            line.add("reason", .text(reason ?? ""))
            return line.text
        }
        let why = reason.map { ": \($0)" } ?? ""
        return TerminalText.harmless("\(record.position)  \(record.name) \(record.context.id) was refused\(why)")
    }

    /// The replay's outcome, in one line.
    static func summary(_ tally: ReplayTally, worker: String, isJSON: Bool) -> String {
        if isJSON {
            var line = JSONLine()
            line.add("handled", .unsigned(tally.handled))
            line.add("refused", .unsigned(tally.refused))
            line.add("unwanted", .unsigned(tally.leftOut))
            line.add("missing", .unsigned(tally.missing))
            line.add("last", tally.last.map { .unsigned($0) })
            return line.text
        }
        var parts = ["\(worker) has handled \(count(tally.handled)) again"]
        if tally.refused > 0 { parts.append("\(count(tally.refused)) \(tally.refused == 1 ? "was" : "were") refused") }
        if tally.leftOut > 0 {
            let names = tally.unwanted.keys.sorted().joined(separator: ", ")
            parts.append("\(count(tally.leftOut)) it does not want: \(names)")
        }
        if tally.gaps > 0 {
            let places = tally.gaps == 1 ? "1 place" : "\(tally.gaps) places"
            parts.append("events are missing at \(places)")
        }
        return TerminalText.harmless(parts.joined(separator: "; "))
    }

    private static func count(_ events: UInt64) -> String {
        switch events {
        case 0: "no event"
        case 1: "1 event"
        default: "\(events) events"
        }
    }
}
