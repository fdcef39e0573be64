import DomainEvents

/// A recorded event that is owed, with its debts: one for each receiver.
///
/// Nearly every event is owed to one receiver only, and that debt needs no array.
struct CustodyEntry: Sendable {
    /// A receiver to which the event is owed, and what the records say of its deliveries.
    struct Debt: Sendable {
        let receiver: OwedReceiver
        /// How often the event was handed to the receiver, as far as the records say.
        var attempts: Int
        /// Whether later events are missing, and no host has started since: see ``CustodyLedger/eventsAreMissing()``.
        var isDoubtful = false
        /// Nil for nearly every debt, so that a debt is small.
        private var setbacks: Setbacks?

        init(receiver: OwedReceiver, attempts: Int) {
            self.receiver = receiver
            self.attempts = attempts
        }

        var strikes: [String] {
            get { setbacks?.strikes ?? [] }
            set { setbacks = Setbacks(strikes: newValue, letter: letter) }
        }

        var letter: NotedLetter? {
            get { setbacks?.letter }
            set { setbacks = Setbacks(strikes: strikes, letter: newValue) }
        }

        var isLetter: Bool { setbacks?.letter != nil }

        mutating func forgetSetbacks() { setbacks = nil }

        /// Whether a note of this receiver ends the debt.
        ///
        /// - Parameter asLetter: whether the note is about a dead letter.
        func ends(at receiver: NotedReceiver, asLetter: Bool) -> Bool {
            !isDoubtful && isLetter == asLetter && receiver.isOwed(as: self.receiver.name)
        }
    }

    /// What has gone wrong with an event at a receiver.
    private final class Setbacks: Sendable {
        let strikes: [String]
        let letter: NotedLetter?

        init(strikes: [String], letter: NotedLetter?) {
            self.strikes = strikes
            self.letter = letter
        }
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

    /// Adds the receivers to which the event is not owed yet.
    mutating func owe(_ receivers: [OwedReceiver], attempts: Int) {
        for receiver in receivers where first.receiver.name != receiver.name {
            if others.contains(where: { $0.receiver.name == receiver.name }) { continue }
            others.append(Debt(receiver: receiver, attempts: attempts))
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
