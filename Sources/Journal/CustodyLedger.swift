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
        var strikes: [String] = []
        var letter: NotedLetter?
        /// Whether events after this one are missing: see ``CustodyLedger/eventsAreMissing()``.
        var isDoubtful = false
    }

    private struct Entry: Sendable {
        let position: UInt64
        /// When the event was published, in nanoseconds since 1970, by the clock of its publisher.
        let time: UInt64
        /// Nil in the ledger of a running host, whose outboxes hold the event.
        var record: JournalRecord?
        var debts: [Debt]
    }

    private var entries: [EventID: Entry] = [:]
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
        var entry = entries[id] ?? Entry(position: position, time: time, record: record, debts: [])
        let attempts = max(1, record?.context.attempt ?? 1)
        for receiver in receivers where !entry.debts.contains(where: { $0.receiver.name == receiver.name }) {
            entry.debts.append(Debt(receiver: receiver, attempts: attempts))
        }
        if !entry.debts.isEmpty { entries[id] = entry }
    }

    /// Called where events cannot be read.
    ///
    /// These may include events that an earlier event has caused. So later notes end no debts of earlier events: those
    /// events come again. Notes after the next start of a host count: that host took up all debts that it found.
    mutating func eventsAreMissing() { changeAll { $0.isDoubtful = true } }

    mutating func noted(_ note: CustodyNote) {
        switch note {
        case .settled(let source, let ranges, let receiver):
            for range in ranges {
                for id in ids(of: source, in: range) { end(id, of: receiver) { $0.letter == nil } }
            }
        case .strike(let id, let receiver, let reason):
            change(id, of: receiver) { debt in
                debt.strikes.append(reason)
                debt.attempts = debt.attempts.saturatingSum(1)
            }
        case .letter(let letter):
            change(letter.event, of: letter.receiver) { $0.letter = letter }
        case .letterGone(let id, let receiver, isOwedAgain: false):
            end(id, of: receiver) { $0.letter != nil }
        case .letterGone(let id, let receiver, isOwedAgain: true):
            change(id, of: receiver) { debt in
                debt.attempts = max(debt.attempts, (debt.letter?.attempts ?? 0).saturatingSum(1))
                (debt.letter, debt.strikes) = (nil, [])
            }
        case .hostStarted:
            changeAll { debt in
                debt.isDoubtful = false
                if debt.letter == nil { debt.attempts = debt.attempts.saturatingSum(1) }
            }
        }
    }

    /// The known events of a range, which comes from a file and may be of any length.
    private func ids(of source: EventSource, in range: ClosedRange<UInt64>) -> [EventID] {
        guard range.upperBound - range.lowerBound < UInt64(entries.count) else {
            return entries.keys.filter { $0.source == source && range.contains($0.number) }
        }
        return range.map { EventID(source: source, number: $0) }
    }

    private mutating func end(_ id: EventID, of receiver: NotedReceiver, where isOver: (Debt) -> Bool) {
        guard let place = entries.index(forKey: id) else { return }
        entries.values[place].debts.removeAll {
            receiver.isOwed(as: $0.receiver.name) && !$0.isDoubtful && isOver($0)
        }
        if entries.values[place].debts.isEmpty { entries.remove(at: place) }
    }

    private mutating func changeAll(_ change: (inout Debt) -> Void) {
        var place = entries.startIndex
        while place < entries.endIndex {
            for index in entries.values[place].debts.indices { change(&entries.values[place].debts[index]) }
            entries.formIndex(after: &place)
        }
    }

    private mutating func change(_ id: EventID, of receiver: NotedReceiver, _ change: (inout Debt) -> Void) {
        guard let place = entries.index(forKey: id) else { return }
        for index in entries.values[place].debts.indices
        where receiver.isOwed(as: entries.values[place].debts[index].receiver.name) {
            change(&entries.values[place].debts[index])
        }
    }

    // MARK: - The next host

    /// Takes out the events themselves, in the order of their records; the debts stay.
    mutating func takeOwed() -> [OwedEvent] {
        var found: [OwedEvent] = []
        let inOrder = entries.sorted { $0.value.position < $1.value.position }
        for (id, entry) in inOrder {
            guard let record = entry.record else { continue }
            entries[id]?.record = nil
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
        return found
    }
}
