import DomainEvents
import JournalFormat

/// Which events are owed to which receivers, computed from a journal's events and the notes of what became of them.
///
/// A pure value. The journal of a running host keeps one, so it removes no segment with an owed event. A journal that
/// is opened makes one from its records, for the host that starts next.
struct CustodyLedger: Sendable {
    /// A receiver to which the entry's event is owed, and what the records say of its deliveries.
    private struct Debt: Sendable {
        let receiver: OwedReceiver
        /// How often the event was handed to the receiver, as far as the records say.
        var attempts: Int
        /// Whether events after this one are missing: see ``CustodyLedger/eventsAreMissing()``.
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

    /// An event, and one debt or more.
    ///
    /// Nearly every event is owed to one receiver only, and its debt needs no array.
    private struct Entry: Sendable {
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
        /// - Returns: Whether no debt is left; the entry is of no use then.
        mutating func end(where isOver: (Debt) -> Bool) -> Bool {
            if !others.isEmpty { others.removeAll(where: isOver) }
            guard isOver(first) else { return false }
            guard !others.isEmpty else { return true }
            first = others.removeFirst()
            return false
        }
    }

    private var entries: [EventID: Entry] = [:]
    /// The events themselves, until they are taken out; none in the ledger of a running host, whose outboxes hold them.
    private var records: [EventID: JournalRecord] = [:]
    /// The files have no event before this position.
    private var filesBegin: UInt64 = 0

    /// Whether nothing is owed, and no dead letter is kept.
    var isEmpty: Bool { entries.isEmpty }

    /// The position of the oldest event in the files that is owed or kept as a dead letter; nil if there is none.
    var lowestPosition: UInt64? { oldest?.position }

    /// The oldest event in the files that is owed or kept as a dead letter, and when it was published; nil if none is.
    var oldest: (position: UInt64, time: UInt64)? {
        entries.values.lazy.filter { $0.position >= filesBegin }.min { $0.position < $1.position }
            .map { ($0.position, $0.time) }
    }

    /// How many events that are owed or kept as dead letters are no longer in the files.
    var eventsWithoutFile: Int { entries.values.count { $0.position < filesBegin } }

    /// Notes that the segments before this position were removed; their owed events stay owed while this value lives.
    mutating func filesBegin(at position: UInt64) { filesBegin = max(filesBegin, position) }

    // MARK: - Records

    /// Takes in a recorded event; if the event is still owed from an earlier record, adds only further receivers.
    mutating func recorded(
        _ id: EventID,
        at position: UInt64,
        published time: UInt64,
        owedTo receivers: [OwedReceiver],
        as record: JournalRecord? = nil
    ) {
        guard let first = receivers.first else { return }
        let attempts = max(1, record?.context.attempt ?? 1)
        let known = entries.count
        entries[id, default: Entry(position: position, time: time, Debt(receiver: first, attempts: attempts))]
            .owe(receivers, attempts: attempts)
        if let record, entries.count > known { records[id] = record }
    }

    /// Called where events cannot be read.
    ///
    /// These may include events that an earlier event has caused. So later notes end no debts of earlier events: those
    /// events come again. Notes after the next start of a host count: that host took up all debts that it found.
    mutating func eventsAreMissing() { changeAll { $0.isDoubtful = true } }

    mutating func noted(_ note: CustodyNote) {
        switch note {
        case .settled(let source, let ranges, let receiver):
            for range in ranges { end(source, range, of: receiver) }
        case .strike(let id, let receiver, let reason):
            change(id, of: receiver) { debt in
                debt.strikes.append(reason)
                debt.attempts = debt.attempts.saturatingSum(1)
            }
        case .letter(let letter):
            change(letter.event, of: letter.receiver) { $0.letter = letter }
        case .letterGone(let id, let receiver, isOwedAgain: false):
            end(id, of: receiver, areLetters: true)
        case .letterGone(let id, let receiver, isOwedAgain: true):
            change(id, of: receiver) { debt in
                debt.attempts = max(debt.attempts, (debt.letter?.attempts ?? 0).saturatingSum(1))
                debt.forgetSetbacks()
            }
        case .hostStarted:
            changeAll { debt in
                debt.isDoubtful = false
                if !debt.isLetter { debt.attempts = debt.attempts.saturatingSum(1) }
            }
        }
    }

    /// Ends the debts of a range of events, which comes from a file and may be of any length.
    private mutating func end(_ source: EventSource, _ range: ClosedRange<UInt64>, of receiver: NotedReceiver) {
        if range.upperBound - range.lowerBound < UInt64(entries.count) {
            for number in range { end(EventID(source: source, number: number), of: receiver, areLetters: false) }
        } else {
            let known = entries.keys.filter { $0.source == source && range.contains($0.number) }
            for id in known { end(id, of: receiver, areLetters: false) }
        }
    }

    /// Ends the debts of an event that are dead letters, or those that are not.
    private mutating func end(_ id: EventID, of receiver: NotedReceiver, areLetters: Bool) {
        guard let place = entries.index(forKey: id) else { return }
        let isOver = entries.values[place].end { debt in
            !debt.isDoubtful && debt.isLetter == areLetters && receiver.isOwed(as: debt.receiver.name)
        }
        guard isOver else { return }
        entries.remove(at: place)
        if !records.isEmpty { records[id] = nil }
    }

    private mutating func changeAll(_ change: (inout Debt) -> Void) {
        var place = entries.startIndex
        while place < entries.endIndex {
            entries.values[place].changeAll(change)
            entries.formIndex(after: &place)
        }
    }

    private mutating func change(_ id: EventID, of receiver: NotedReceiver, _ change: (inout Debt) -> Void) {
        guard let place = entries.index(forKey: id) else { return }
        entries.values[place].changeAll { debt in
            if receiver.isOwed(as: debt.receiver.name) { change(&debt) }
        }
    }

    // MARK: - The next host

    /// Takes out the events themselves, in the order of their records; the debts stay.
    mutating func takeOwed() -> [OwedEvent] {
        var found: [OwedEvent] = []
        let inOrder = entries.sorted { $0.value.position < $1.value.position }
        for (id, entry) in inOrder {
            guard let record = records[id] else { continue }
            found += entry.debts.map { debt in
                OwedEvent(
                    receiver: debt.receiver,
                    name: record.name,
                    context: record.context,
                    payload: record.payload,
                    attempts: debt.attempts,
                    strikes: debt.strikes,
                    letter: debt.letter
                )
            }
        }
        records = [:]
        return found
    }
}
