import ChaosLedger

/// The missing events of a kind at one receiver, compared with the announcements: each event has one fate.
struct Account {
    let kind: ChaosKind
    let receiver: Party
    let tally: Tally
    /// Announced as dropped, by name and count.
    let dropped: Int
    /// Left out for later events, as the policy says.
    let coalesced: Int
    /// The events that the shutdown reported as left for this receiver, less those that other accounts have used up.
    let left: Int
    /// How often the asker died: a dead caller cannot write down what it was told.
    let askersDeaths: Int

    private var isAttached: Bool { receiver == .client || kind == .fromClient }

    /// How many events are missing, and not announced as dropped or coalesced.
    var unannounced: Int { isAttached ? 0 : max(0, tally.missing - dropped - coalesced) }

    /// How many of the newest events of their streams are missing and not announced as dropped.
    private var newest: Int { max(0, tally.newestMissing - dropped) }

    /// How many refused events neither became dead letters nor were reported to their caller; a death explains one.
    private var silent: Int {
        let mayBeForgotten = kind == .errand || kind == .question ? askersDeaths : 0
        return max(0, tally.untold - mayBeForgotten)
    }

    /// How many events that were left are not among the missing ones.
    ///
    /// A missing event may count in ``unannounced`` and in ``newest``; one event that was left explains it in both.
    private var leftBesideMissing: Int { max(0, left - max(unannounced, newest)) }

    /// How many events that were left explain no event of this account, and are there for other accounts.
    var leftForOthers: Int { max(0, leftBesideMissing - silent) }

    var lost: Int { max(0, unannounced - left) + max(0, newest - left) + max(0, silent - leftBesideMissing) }

    /// How many events were announced as dropped, and handled all the same.
    var droppedAndHandled: Int { isAttached ? 0 : max(0, dropped - tally.mayBeMissing) }

    var isSettled: Bool { lost == 0 && droppedAndHandled == 0 }

    /// Whether the table needs a row for this account.
    var isWorthARow: Bool { tally.missing + dropped + tally.untold > 0 || !isSettled }
}
