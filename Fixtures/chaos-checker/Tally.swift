/// What became of events, counted.
struct Tally {
    var firsts = 0
    var handled = 0
    var refused = 0
    var deadLettered = 0
    var redeliveries = 0
    var highestAttempt: UInt32 = 0
    // What must be 0.
    var lost = 0
    var unannounced = 0
    var stale = 0
    var reordered = 0
    var damaged = 0
    var neverOffered = 0

    var faults: Int { lost + unannounced + stale + reordered + damaged + neverOffered }

    static func += (left: inout Tally, right: Tally) {
        left.firsts += right.firsts
        left.handled += right.handled
        left.refused += right.refused
        left.deadLettered += right.deadLettered
        left.redeliveries += right.redeliveries
        left.highestAttempt = max(left.highestAttempt, right.highestAttempt)
        left.lost += right.lost
        left.unannounced += right.unannounced
        left.stale += right.stale
        left.reordered += right.reordered
        left.damaged += right.damaged
        left.neverOffered += right.neverOffered
    }
}
