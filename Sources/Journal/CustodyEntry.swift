import DomainEvents
import JournalFormat

/// A recorded event that is owed, with its debts: one for each receiver.
///
/// Nearly every event is owed to one receiver only, and that debt needs no array.
struct CustodyEntry: Sendable {
    /// A receiver to which the event is owed, and what the records say of its deliveries.
    struct Debt: Sendable {
        private(set) var receiver: OwedReceiver
        /// The position of the record that made the debt.
        let position: UInt64
        /// A dead letter's attempts; for any other debt, its attempts minus all starts of hosts in the ledger.
        private var base: Int
        /// Empty in nearly every debt, so that a debt is small; otherwise one element, which can be changed in place.
        private var setbacks: [Setbacks] = []

        /// - Parameter hostStarts: how many starts of hosts the ledger has counted.
        init(receiver: OwedReceiver, position: UInt64, attempts: Int, hostStarts: Int) {
            self.receiver = receiver
            self.position = position
            base = attempts - hostStarts
        }

        /// The debt that the same record makes to another receiver.
        fileprivate func same(to receiver: OwedReceiver) -> Debt {
            var debt = self
            debt.receiver = receiver
            return debt
        }

        var strikes: [String] { setbacks.first?.strikes ?? [] }

        var letter: NotedLetter? { setbacks.first?.letter }

        private var isLetter: Bool { !setbacks.isEmpty && setbacks[0].letter != nil }

        /// How often the event was handed to the receiver, as far as the records say.
        ///
        /// A host that starts hands over every owed event once more, except dead letters. That changes no debt: only
        /// the number of starts grows.
        func attempts(hostStarts: Int) -> Int { isLetter ? base : base.saturatingSum(hostStarts) }

        mutating func strike(_ reason: String) {
            makeSetbacks()
            setbacks[0].strikes.append(reason)
            base = base.saturatingSum(1)
        }

        mutating func become(_ letter: NotedLetter, hostStarts: Int) {
            base = attempts(hostStarts: hostStarts)
            makeSetbacks()
            setbacks[0].letter = letter
        }

        /// Forgets the dead letter and all strikes.
        mutating func beOwedAgain(hostStarts: Int) {
            let attempts = max(attempts(hostStarts: hostStarts), (letter?.attempts ?? 0).saturatingSum(1))
            setbacks = []
            base = attempts - hostStarts
        }

        private mutating func makeSetbacks() {
            if setbacks.isEmpty { setbacks = [Setbacks()] }
        }

        /// Whether a note of this receiver ends the debt.
        ///
        /// - Parameters:
        ///   - asLetter: whether the note is about a dead letter.
        ///   - doubtful: no note ends debts up to this position.
        func ends(at receiver: NotedReceiver, asLetter: Bool, doubtfulUpTo doubtful: UInt64) -> Bool {
            position > doubtful && isLetter == asLetter && receiver.isOwed(as: self.receiver.name)
        }
    }

    /// What has gone wrong with an event at a receiver.
    private struct Setbacks: Sendable {
        var strikes: [String] = []
        var letter: NotedLetter?
    }

    let position: UInt64
    /// When the event was published, in nanoseconds since 1970, by the clock of its publisher.
    let time: UInt64
    private var first: Debt
    private var others: [Debt] = []

    init(position: UInt64, time: UInt64, _ first: Debt) {
        self.position = position
        self.time = time
        self.first = first
    }

    var debts: [Debt] { [first] + others }

    /// Adds the receivers to which the event is not owed yet; `debt` is a debt that the same record makes.
    mutating func owe(_ receivers: [OwedReceiver], as debt: Debt) {
        for receiver in receivers where first.receiver.name != receiver.name {
            if others.contains(where: { $0.receiver.name == receiver.name }) { continue }
            others.append(debt.same(to: receiver))
        }
    }

    mutating func changeAll(_ change: (inout Debt) -> Void) {
        change(&first)
        for index in others.indices { change(&others[index]) }
    }

    /// Ends debts.
    ///
    /// - Returns: Whether no debt is left; the caller then throws the entry away.
    mutating func end(where isOver: (Debt) -> Bool) -> Bool {
        if !others.isEmpty { others.removeAll(where: isOver) }
        guard isOver(first) else { return false }
        guard !others.isEmpty else { return true }
        first = others.removeFirst()
        return false
    }
}
