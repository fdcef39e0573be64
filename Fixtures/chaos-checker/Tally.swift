/// The counts of what became of events.
struct Tally {
    var firsts = 0
    var handled = 0
    var refused = 0
    var large = 0
    var deadLettered = 0
    var redeliveries = 0
    var highestAttempt: UInt32 = 0
    /// Events that were accepted, and never handled to the end: each of these has to be announced.
    var missing = 0
    /// The same, plus the events of which the sender does not know whether they were accepted.
    var mayBeMissing = 0
    /// Newest events that were not handled, of streams in which only the newest event counts.
    var newestMissing = 0
    /// Refused events that neither became dead letters nor were reported to their caller.
    var untold = 0
    // These must be 0.
    var unmarked = 0
    var unannounced = 0
    var stale = 0
    var reordered = 0
    var damaged = 0
    var neverOffered = 0
    var elsewhere = 0

    /// The counts that must be 0, each with what a higher count would mean.
    var faultCounts: [(count: Int, meaning: String)] {
        [
            (unannounced + stale, "events came again and should not have"),
            (elsewhere, "events came to another member of a pool than those before them"),
            (reordered, "events came after later ones"),
            (unmarked, "events are missing where the client was told of no gap"),
            (damaged, "events were not what was sent"),
            (neverOffered, "events came that no party had offered"),
        ]
    }

    var faults: Int { faultCounts.reduce(0) { $0 + $1.count } }

    static func += (left: inout Tally, right: Tally) {
        left.firsts += right.firsts
        left.handled += right.handled
        left.refused += right.refused
        left.large += right.large
        left.deadLettered += right.deadLettered
        left.redeliveries += right.redeliveries
        left.highestAttempt = max(left.highestAttempt, right.highestAttempt)
        left.missing += right.missing
        left.mayBeMissing += right.mayBeMissing
        left.newestMissing += right.newestMissing
        left.untold += right.untold
        left.unmarked += right.unmarked
        left.unannounced += right.unannounced
        left.stale += right.stale
        left.reordered += right.reordered
        left.damaged += right.damaged
        left.neverOffered += right.neverOffered
        left.elsewhere += right.elsewhere
    }
}
