/// Which parties' events wait for which other parties, and which of these waits are given up because they close a
/// circle.
///
/// A pure value. A party is a peer; `Body` is what goes on when a wait is over. There are two kinds of waits:
///
/// - A *backlog wait* lasts until the events that the target published get through. A circle of such waits would last
///   for ever, so the wait that would close it is not begun.
/// - A *crowd wait* lasts until the target has acknowledged enough of what lies in the outbox for it. Its handlers wait
///   for no room, so that always happens. The exception is a target that speaks lines: its acknowledgements lie behind
///   its own events in one stream, and the host no longer reads this stream when too many of these events wait. So a
///   crowd wait for a party that speaks lines can be a part of a circle, too. In such a circle backlog waits of parties
///   that speak lines are given up until the circle is open. These parties publish no faster for it: an
///   unacknowledged event slows a party that speaks lines only once the host stops reading, and then the circle would
///   stand still.
///
/// No wait is given up in a circle of crowd waits alone, between parties that all speak lines: nothing would bound what
/// the host then keeps for them.
struct WaitGraph<Party: Hashable & Sendable, Body> {
    /// Two parties: the events of one wait for the other one.
    struct Pair: Hashable, Sendable {
        let sender: Party
        let target: Party
    }

    /// The waits of one pair.
    private struct Waits {
        /// What goes on when the backlog wait is over, in the order in which it began to wait.
        var backlog: [Body] = []
        /// Whether a call of ``WaitGraph/backlogEnded(_:)`` will come.
        var isWatched = false
        /// How many events wait because the target is crowded.
        var crowd = 0
        var speaksLines = false

        /// Whether one more such backlog wait closes no other circle, because an event of the pair waits already.
        func isBegun(speaksLines: Bool) -> Bool { !backlog.isEmpty && self.speaksLines == speaksLines }

        var areOver: Bool { backlog.isEmpty && !isWatched && crowd == 0 }
    }

    private var waits: [Pair: Waits] = [:]
    /// The pairs with a backlog wait of a sender that speaks lines, in the order in which these began.
    private var linesPairs: [Pair] = []

    /// What follows from a backlog wait.
    struct Beginning {
        /// What has to go on now: the wait itself if it would close a circle, or other waits, which are given up.
        var goOn: [Body] = []
        /// Whether ``WaitGraph/backlogEnded(_:)`` has to be called once the target's backlog has got through.
        var watches = false
    }

    /// Begins a backlog wait.
    ///
    /// - Parameter speaksLines: whether the sender speaks lines.
    mutating func waitForBacklog(_ pair: Pair, speaksLines: Bool, _ body: Body) -> Beginning {
        let isBegun = waits[pair]?.isBegun(speaksLines: speaksLines) ?? false
        if !isBegun, leads(from: pair.target, to: pair.sender, overCrowds: speaksLines) {
            return Beginning(goOn: [body])
        }
        waits[pair, default: Waits()].backlog.append(body)
        if isBegun { return Beginning() }
        let isWatched = waits[pair]?.isWatched ?? false
        waits[pair]?.isWatched = true
        waits[pair]?.speaksLines = speaksLines
        note(pair, speaksLines: speaksLines)
        return Beginning(goOn: takeGivenUp(), watches: !isWatched)
    }

    /// Notes that the target's backlog has got through, or is not waited for any more; returns what goes on.
    mutating func backlogEnded(_ pair: Pair) -> [Body] {
        let ended = waits[pair]?.backlog ?? []
        waits[pair]?.backlog = []
        waits[pair]?.isWatched = false
        note(pair, speaksLines: false)
        removeIfOver(pair)
        return ended
    }

    /// Begins a crowd wait, which ``crowdEnded(_:)`` ends; returns what goes on because its wait is given up.
    ///
    /// - Parameter speaksLines: whether the sender speaks lines.
    mutating func waitForRoom(_ pair: Pair, speaksLines: Bool) -> [Body] {
        let former = waits[pair]
        waits[pair, default: Waits()].crowd += 1
        if let former, former.crowd > 0, former.speaksLines == speaksLines { return [] }
        waits[pair]?.speaksLines = speaksLines
        note(pair, speaksLines: speaksLines && former?.backlog.isEmpty == false)
        return takeGivenUp()
    }

    mutating func crowdEnded(_ pair: Pair) {
        waits[pair]?.crowd -= 1
        removeIfOver(pair)
    }

    private mutating func removeIfOver(_ pair: Pair) {
        if waits[pair]?.areOver == true { waits[pair] = nil }
    }

    /// Takes out the backlog waits of parties that speak lines and that are in a circle by now.
    private mutating func takeGivenUp() -> [Body] {
        var givenUp: [Body] = []
        // Each circle is looked for anew: without the waits that were given up just before, it may be open.
        for pair in linesPairs where leads(from: pair.target, to: pair.sender, overCrowds: true) {
            givenUp += waits[pair]?.backlog ?? []
            waits[pair]?.backlog = []
            note(pair, speaksLines: false)
        }
        return givenUp
    }

    /// Notes whether a sender that speaks lines has a backlog wait in this pair.
    private mutating func note(_ pair: Pair, speaksLines: Bool) {
        if !speaksLines { return linesPairs.removeAll { $0 == pair } }
        if !linesPairs.contains(pair) { linesPairs.append(pair) }
    }

    /// Whether `start` waits for `end`, directly or through others.
    ///
    /// - Parameter overCrowds: whether crowd waits count; if so, `end` speaks lines.
    private func leads(from start: Party, to end: Party, overCrowds: Bool) -> Bool {
        var reached: Set<Step> = [Step(party: start, byCrowd: false)]
        var next = Array(reached)
        func go(_ step: Step) { if reached.insert(step).inserted { next.append(step) } }
        while let step = next.popLast() {
            if step.party == end { return true }
            // What waits for room at a party waits for the party's own waits only if the party speaks lines.
            for (pair, own) in waits where pair.sender == step.party && (!step.byCrowd || own.speaksLines) {
                if !own.backlog.isEmpty { go(Step(party: pair.target, byCrowd: false)) }
                if overCrowds, own.crowd > 0 { go(Step(party: pair.target, byCrowd: true)) }
            }
        }
        return false
    }

    /// A party on the way through the waits, and whether the last wait was a crowd wait.
    private struct Step: Hashable {
        let party: Party
        let byCrowd: Bool
    }
}
