import ChaosLedger

/// What one receiver has seen of one stream, and what is wrong with it.
///
/// Numbers are handled in ascending order, first by whoever lives, then again, from where it broke off, by the next incarnation. So it
/// is enough to know the highest number, what is missing below it, and how the newest of them went.
struct Flow {
    /// A repeat further back than this is of an event that had been settled for long: a sender keeps less than that.
    static let memory: UInt64 = 65_536

    /// More cannot be lost at once: no ledger is believed to say so.
    private static let widestGap: UInt64 = 10_000_000

    private struct Last {
        var receiver: UInt64
        var attempt: UInt32
        var hasEnded: Bool
    }

    private(set) var tally = Tally()
    /// When the receiver handed out an event of it for the last time, in records of the receiver.
    private(set) var lastSeen: Int
    private(set) var highest: UInt64 = 0
    private var missing: Set<UInt64> = []
    private var unended: Set<UInt64> = []
    private var deadLettered: Set<UInt64> = []
    /// How the numbers from `firstKept` went when they were handled last.
    private var kept: [Last] = []
    private var firstKept: UInt64 = 1
    private var receiver: UInt64 = 0
    private var lastInThisLife: UInt64 = 0

    init(lastSeen: Int) {
        self.lastSeen = lastSeen
    }

    /// - Parameters:
    ///   - receiver: which life of the receiver.
    ///   - time: how many records that receiver has written so far.
    /// - Returns: What is wrong about it, if anything is.
    mutating func add(_ record: HandledRecord, receiver life: UInt64, time: Int) -> Fault? {
        lastSeen = time
        if record.handling == .deadLettered {
            deadLettered.insert(record.number)
            missing.remove(record.number)
            unended.remove(record.number)
            tally.deadLettered += 1
            return nil
        }
        guard record.handling != .damaged, record.number <= highest + Self.widestGap else {
            tally.damaged += 1
            return .damaged
        }
        if life != receiver {
            receiver = life
            lastInThisLife = 0
        }
        let isDescending = record.number < lastInThisLife
        lastInThisLife = record.number
        let repeatFault = record.number > highest ? first(record, life) : again(record, life)
        if isDescending, repeatFault == nil {
            tally.reordered += 1
            return .reordered
        }
        return repeatFault
    }

    private mutating func first(_ record: HandledRecord, _ life: UInt64) -> Fault? {
        for number in (highest + 1)..<record.number where !deadLettered.contains(number) { missing.insert(number) }
        while highest < record.number {
            highest += 1
            kept.append(Last(receiver: 0, attempt: 0, hasEnded: false))
        }
        tally.firsts += 1
        note(record, life, at: kept.count - 1)
        if kept.count >= 2 * Int(Self.memory) {
            kept.removeFirst(Int(Self.memory))
            firstKept += Self.memory
        }
        return nil
    }

    private mutating func again(_ record: HandledRecord, _ life: UInt64) -> Fault? {
        guard record.number >= firstKept else {
            tally.stale += 1
            return .settledLongAgo
        }
        let index = Int(record.number - firstKept)
        let before = kept[index]
        note(record, life, at: index)
        if missing.remove(record.number) != nil {
            tally.reordered += 1
            tally.firsts += 1
            return .reordered
        }
        if before.receiver == life {
            tally.unannounced += 1
            return .twiceInOneLife
        }
        guard record.attempt >= 2, record.attempt > before.attempt else {
            tally.unannounced += 1
            return .unannounced
        }
        tally.redeliveries += 1
        tally.highestAttempt = max(tally.highestAttempt, record.attempt)
        return nil
    }

    private mutating func note(_ record: HandledRecord, _ life: UInt64, at index: Int) {
        let hasEnded = record.handling != .begun
        if !kept[index].hasEnded {
            if hasEnded {
                unended.remove(record.number)
                if record.handling == .threw { tally.refused += 1 } else { tally.handled += 1 }
            } else {
                unended.insert(record.number)
            }
        }
        kept[index] = Last(receiver: life, attempt: record.attempt, hasEnded: hasEnded || kept[index].hasEnded)
    }

    /// Whether everything that was accepted has been settled.
    func isComplete(accepted: UInt64) -> Bool { highest >= accepted && missing.isEmpty && unended.isEmpty }

    /// Takes stock, when the sender is known to have ended.
    func total(accepted: UInt64, offered: UInt64) -> Tally {
        var tally = tally
        tally.lost += missing.count { $0 <= accepted } + unended.count { $0 <= accepted }
        if accepted > highest {
            tally.lost += Int(accepted - highest) - deadLettered.count { $0 > highest && $0 <= accepted }
        }
        if highest > offered { tally.neverOffered += Int(highest - offered) }
        return tally
    }

    /// Some of what was lost, for the report.
    func lostNumbers(accepted: UInt64) -> String {
        let neverBegun = missing.filter { $0 <= accepted }.sorted().prefix(5).map(String.init)
        let neverEnded = unended.filter { $0 <= accepted }.sorted().prefix(5).map(String.init)
        var parts: [String] = []
        if !neverBegun.isEmpty { parts.append("never begun: \(neverBegun.joined(separator: ", ")) ...") }
        if !neverEnded.isEmpty { parts.append("begun and never ended: \(neverEnded.joined(separator: ", ")) ...") }
        if accepted > highest { parts.append("nothing after \(highest)") }
        return parts.joined(separator: "; ")
    }
}

/// What must not happen to an event.
enum Fault: String {
    case reordered = "handled after a later one"
    case unannounced = "handled again without a higher attempt"
    case twiceInOneLife = "handled twice by one process"
    case settledLongAgo = "handled again long after it was settled"
    case damaged = "not what was sent"
}
