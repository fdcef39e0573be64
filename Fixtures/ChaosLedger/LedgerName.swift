/// How the ledgers of a run are named, and what a name says.
package enum LedgerName: Sendable, Hashable {
    case sent(party: Party, ordinal: UInt64)
    case handled(party: Party, lane: Int, ordinal: UInt64, segment: UInt64)

    package static func sent(_ party: Party, _ ordinal: UInt64) -> String { "sent-\(party.name)-\(ordinal)" }

    package static func handled(_ party: Party, _ lane: Int, _ ordinal: UInt64, _ segment: UInt64) -> String {
        "handled-\(party.name).\(lane)-\(ordinal)-\(segment)"
    }

    /// Reads the name of a ledger; nil for the name of any other file.
    package init?(_ text: String) {
        let parts = text.split(separator: "-")
        guard parts.count >= 3, let party = Party(name: String(parts[1])), let ordinal = UInt64(parts[2]) else {
            return nil
        }
        switch parts[0] {
        case "sent" where parts.count == 3: self = .sent(party: party, ordinal: ordinal)
        case "handled" where parts.count == 4:
            guard let segment = UInt64(parts[3]), let lane = parts[1].split(separator: ".").last.flatMap({ Int($0) })
            else { return nil }
            self = .handled(party: party, lane: lane, ordinal: ordinal, segment: segment)
        default: return nil
        }
    }
}
