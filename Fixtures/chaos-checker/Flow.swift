import ChaosLedger

/// What one receiver has seen of one stream, and the faults in what it has seen.
///
/// One life handles numbers in ascending order; after a death the next incarnation goes on where the last one broke
/// off. So it is enough to know the highest number, the missing numbers below it, and how the newest numbers went.
struct Flow {
    /// If an event comes again from further back than this, it was settled long ago, because a sender keeps fewer
    /// events.
    static let memory: UInt64 = 65_536

    /// A larger gap cannot be real, so a ledger with one is damaged.
    private static let widestGap: UInt64 = 10_000_000

    private struct Last {
        var receiver: UInt64
        var attempt: UInt32
        var hasEnded: Bool
    }

    private(set) var tally = Tally()
    /// The `time` of the newest record of the stream: see `add`.
    private(set) var lastSeen: Int
    private(set) var highest: UInt64 = 0
    /// For each life of the receiver, how many events that it had begun came again or became dead letters; such a life
    /// must have ended by a death.
    private(set) var takenBack: [UInt64: Int] = [:]
    private let promise: ChaosPromise
    /// The missing numbers, if the promise allows only few.
    private var missing: Set<UInt64> = []
    /// How many numbers are missing, if a policy drops events.
    private var missingCount = 0
    private var unended: Set<UInt64> = []
    private var refused: Set<UInt64> = []
    private var deadLettered: Set<UInt64> = []
    /// How the last handling of each number from `firstKept` on went.
    private var kept: [Last] = []
    private var firstKept: UInt64 = 1
    private var receiver: UInt64 = 0
    private var lane: Int?
    private var lastInThisLife: UInt64 = 0
    /// How many missing events gaps have announced to this life since its last event.
    private var marked: UInt64 = 0

    init(_ promise: ChaosPromise = .settled, lastSeen: Int) {
        self.promise = promise
        self.lastSeen = lastSeen
    }

    /// - Parameters:
    ///   - receiver: the life of the receiver.
    ///   - lane: the number of the receiver among several that share the stream.
    ///   - time: how many records about this receiver there are so far.
    /// - Returns: The fault of the record, if any.
    mutating func add(_ record: HandledRecord, receiver life: UInt64, lane: Int = 0, time: Int) -> Fault? {
        lastSeen = time
        switch record.handling {
        case .deadLettered: return giveUp(record.number)
        case .gap:
            begin(life)
            marked += record.number
            return nil
        case .damaged:
            tally.damaged += 1
            return .damaged
        case .begun, .returned, .threw: break
        }
        guard record.number <= highest + Self.widestGap, record.number > 0 else {
            tally.damaged += 1
            return .damaged
        }
        begin(life)
        if promise == .attached, let fault = look(at: record.number) { return fault }
        let isDescending = record.number < lastInThisLife
        lastInThisLife = record.number
        let repeatFault = record.number > highest ? first(record, life) : again(record, life)
        if self.lane ?? lane != lane {
            tally.elsewhere += 1
            return .elsewhere
        }
        self.lane = lane
        if isDescending, repeatFault == nil {
            tally.reordered += 1
            return .reordered
        }
        return repeatFault
    }

    private mutating func begin(_ life: UInt64) {
        guard life != receiver else { return }
        receiver = life
        lastInThisLife = 0
        marked = 0
    }

    /// Checks that gaps have announced all events that are missing between two events of one attachment.
    private mutating func look(at number: UInt64) -> Fault? {
        defer { marked = 0 }
        guard lastInThisLife > 0, number > lastInThisLife + 1 else { return nil }
        let missing = number - lastInThisLife - 1
        guard missing > marked else { return nil }
        tally.unmarked += Int(clamping: missing - marked)
        lastInThisLife = 0
        return .unmarked
    }

    private mutating func giveUp(_ number: UInt64) -> Fault? {
        guard deadLettered.insert(number).inserted else { return nil }
        missing.remove(number)
        unended.remove(number)
        // A handled event becomes a dead letter only if its process died before the acknowledgement.
        if number >= firstKept, number <= highest, !refused.contains(number) {
            let last = kept[Int(number - firstKept)]
            if last.receiver != 0 { takenBack[last.receiver, default: 0] += 1 }
        }
        return nil
    }

    private mutating func first(_ record: HandledRecord, _ life: UInt64) -> Fault? {
        switch promise {
        case .settled:
            for number in (highest + 1)..<record.number where !deadLettered.contains(number) { missing.insert(number) }
        case .droppable, .latest: missingCount += Int(record.number - highest - 1)
        case .attached: break
        }
        while highest < record.number {
            highest += 1
            kept.append(Last(receiver: 0, attempt: 0, hasEnded: false))
        }
        tally.firsts += 1
        if record.isLarge { tally.large += 1 }
        note(record, life, at: kept.count - 1)
        while kept.count >= 2 * Int(Self.memory) {
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
        if before.receiver == 0 {
            if missing.remove(record.number) == nil { missingCount -= promise == .attached ? 0 : 1 }
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
        takenBack[before.receiver, default: 0] += 1
        return nil
    }

    private mutating func note(_ record: HandledRecord, _ life: UInt64, at index: Int) {
        let hasEnded = record.handling != .begun
        if !kept[index].hasEnded {
            if hasEnded {
                unended.remove(record.number)
                if record.handling == .threw {
                    tally.refused += 1
                    refused.insert(record.number)
                } else {
                    tally.handled += 1
                }
            } else {
                unended.insert(record.number)
            }
        }
        kept[index] = Last(receiver: life, attempt: record.attempt, hasEnded: hasEnded || kept[index].hasEnded)
    }

    /// Whether everything that was accepted has been settled.
    func isComplete(accepted: UInt64) -> Bool { highest >= accepted && missing.isEmpty && unended.isEmpty }

    /// Counts the fates of the stream's events, when the sender has ended.
    ///
    /// - Parameters:
    ///   - told: the events whose caller got a refusal.
    ///   - doubtful: the events whose caller does not know what became of them.
    func total(
        accepted: UInt64,
        offered: UInt64,
        told: Set<UInt64> = [],
        doubtful: Set<UInt64> = []
    ) -> Tally {
        var tally = tally
        if highest > offered { tally.neverOffered += Int(clamping: highest - offered) }
        let unsettled = missing.union(unended)
        switch promise {
        case .attached: break
        case .settled:
            let behind = count(after: highest, upTo: accepted, doubtful)
            tally.missing = unsettled.count { $0 <= accepted && !doubtful.contains($0) } + behind
            tally.mayBeMissing = unsettled.count + count(after: highest, upTo: max(accepted, offered), [])
        case .droppable, .latest:
            tally.missing = missingCount + unended.count + count(after: highest, upTo: accepted, doubtful)
            tally.mayBeMissing =
                missingCount + unended.count + count(after: highest, upTo: max(accepted, offered), [])
            if promise == .latest, accepted > highest || unended.contains(accepted) { tally.newestMissing = 1 }
        }
        if promise != .attached {
            let letters = deadLettered.subtracting(refused)
            tally.deadLettered = letters.count
            tally.untold = refused.subtracting(deadLettered).subtracting(told).count
        }
        return tally
    }

    private func count(after lowest: UInt64, upTo last: UInt64, _ doubtful: Set<UInt64>) -> Int {
        guard last > lowest else { return 0 }
        func isBetween(_ number: UInt64) -> Bool { number > lowest && number <= last }
        return Int(clamping: last - lowest) - deadLettered.union(doubtful).count { isBetween($0) }
    }

    /// Some of the missing numbers, for the report.
    func missingNumbers(accepted: UInt64) -> String {
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
    case elsewhere = "handled by another member of a pool than those before it"
    case unmarked = "the first after events that are missing without a gap"
}
