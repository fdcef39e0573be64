import ChaosLedger

/// What is missing of a kind of events at one receiver, beside what was announced about it: each event has one fate.
struct Account {
    let kind: ChaosKind
    let receiver: Party
    let tally: Tally
    /// Announced as dropped, by name and count.
    let dropped: Int
    /// Left out for a later one, as the policy says.
    let coalesced: Int
    /// What the shutdown has reported as left for this receiver, and no other account has used up.
    let left: Int
    /// A caller that dies cannot write down what it was told.
    let askersDeaths: Int

    private var isAttached: Bool { receiver == .client || kind == .fromClient }

    /// Missing, and not announced as dropped or coalesced.
    var unannounced: Int { isAttached ? 0 : max(0, tally.missing - dropped - coalesced) }

    var lost: Int {
        let newest = max(0, tally.newestMissing - dropped - left)
        return max(0, unannounced - left) + newest + silent
    }

    /// Refused, and no publisher was told.
    private var silent: Int {
        let mayBeForgotten = kind == .errand || kind == .question ? askersDeaths : 0
        return max(0, tally.untold - mayBeForgotten - left)
    }

    /// Announced as dropped, and handled all the same.
    var droppedAndHandled: Int { isAttached ? 0 : max(0, dropped - tally.mayBeMissing) }

    var isSettled: Bool { lost == 0 && droppedAndHandled == 0 }

    /// Whether there is anything to tell of it.
    var isWorthARow: Bool { tally.missing + dropped + tally.untold > 0 || !isSettled }
}
