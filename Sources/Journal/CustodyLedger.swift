import DomainEvents
import JournalFormat

/// Which events are owed to which receivers, computed from a journal's events and the notes of what became of them.
///
/// This is a pure value. The journal of a running host keeps one, so it removes no segment with an owed event. A
/// journal that is opened makes one from its records, for the host that starts next.
struct CustodyLedger: Sendable {
    /// Most events that a running host owes.
    private var queue = OwedQueue()
    /// All other events that are owed or kept as dead letters.
    private var entries: [EventID: CustodyEntry] = [:]
    /// The events themselves, until they are taken out; none in the ledger of a running host, whose outboxes hold them.
    private var records: [EventID: JournalRecord] = [:]
    /// The files have no event before this position.
    private var filesBegin: UInt64 = 0
    /// The position of the last record that made a debt.
    private var lastDebt: UInt64 = 0
    /// No note ends debts up to this position: see ``eventsAreMissing()``.
    private var doubtfulUpTo: UInt64 = 0
    /// How many starts of hosts the records state.
    private var hostStarts = 0

    /// Whether nothing is owed, and no dead letter is kept.
    var isEmpty: Bool { queue.isEmpty && entries.isEmpty }

    /// The position of the oldest event in the files that is owed or kept as a dead letter; nil if there is none.
    var lowestPosition: UInt64? { oldest?.position }

    /// The oldest event in the files that is owed or kept as a dead letter, and its time; nil if there is none.
    var oldest: (position: UInt64, time: UInt64)? {
        let others = entries.values.lazy.filter { $0.position >= filesBegin }.min { $0.position < $1.position }
        guard let other = others.map({ ($0.position, $0.time) }) else { return queue.oldest }
        guard let queued = queue.oldest, queued.position < other.0 else { return other }
        return queued
    }

    /// How many events that are owed or kept as dead letters are no longer in the files.
    var eventsWithoutFile: Int { entries.values.count { $0.position < filesBegin } }

    /// Called when the segments before this position were removed; their owed events stay owed while this value lives.
    mutating func filesBegin(at position: UInt64) { filesBegin = max(filesBegin, position) }

    // MARK: - Records

    /// Takes in an event that a running host has recorded: as below, but without the event itself.
    mutating func recorded(_ context: BorrowedContext, at position: UInt64, owedTo receivers: [OwedReceiver]) {
        let (id, time) = (context.borrowedID, context.nanosecondsSinceEpoch)
        if entries.isEmpty || entries.index(forKey: id.id) == nil,
            queue.append(id, at: position, published: time, owedTo: receivers, hostStarts: hostStarts)
        {
            lastDebt = max(lastDebt, position)
        } else {
            recorded(id.id, at: position, published: time, owedTo: receivers)
        }
    }

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
        let debt = CustodyEntry.Debt(receiver: first, position: position, attempts: attempts, hostStarts: hostStarts)
        lastDebt = max(lastDebt, position)
        if let place = queue.place(of: id) { entries[id] = queue.take(at: place) }
        let known = entries.count
        entries[id, default: CustodyEntry(position: position, time: time, debt)].owe(receivers, as: debt)
        if let record, entries.count > known { records[id] = record }
    }

    /// Called where events cannot be read.
    ///
    /// Among them may be events that an earlier event has caused. So later notes end no debts of earlier events, and
    /// the earlier events come again. Notes after the next start of a host count: that host has taken over all debts.
    ///
    /// A damaged file may have as many holes and starts of hosts as owed events. If each of them changed all debts, the
    /// time would grow with the square of their number.
    mutating func eventsAreMissing() { doubtfulUpTo = lastDebt }

    mutating func noted(_ note: CustodyNote) {
        switch note {
        case .settled(let source, let ranges, let receiver):
            for range in ranges { end(source, range, of: receiver) }
        case .strike(let id, let receiver, let reason):
            change(id, of: receiver) { $0.strike(reason) }
        case .letter(let letter):
            let hostStarts = hostStarts
            change(letter.event, of: letter.receiver) { $0.become(letter, hostStarts: hostStarts) }
        case .letterGone(let id, let receiver, isOwedAgain: false):
            end(id, of: receiver, asLetter: true)
        case .letterGone(let id, let receiver, isOwedAgain: true):
            let hostStarts = hostStarts
            change(id, of: receiver) { $0.beOwedAgain(hostStarts: hostStarts) }
        case .hostStarted:
            doubtfulUpTo = 0
            hostStarts += 1
        }
    }

    /// Ends the debts of a range of events; the range may come from a file, and have any length.
    private mutating func end(_ source: EventSource, _ range: ClosedRange<UInt64>, of receiver: NotedReceiver) {
        queue.end(source, range, of: receiver, doubtfulUpTo: doubtfulUpTo)
        if entries.isEmpty { return }
        if range.upperBound - range.lowerBound < UInt64(entries.count) {
            for number in range { end(EventID(source: source, number: number), of: receiver, asLetter: false) }
        } else {
            let known = entries.keys.filter { $0.source == source && range.contains($0.number) }
            for id in known { end(id, of: receiver, asLetter: false) }
        }
    }

    /// Ends debts of an event that is not in the queue: dead letters if `asLetter` is true, all other debts otherwise.
    private mutating func end(_ id: EventID, of receiver: NotedReceiver, asLetter: Bool) {
        guard let place = entries.index(forKey: id) else { return }
        let doubtfulUpTo = doubtfulUpTo
        let isOver = entries.values[place].end {
            $0.ends(at: receiver, asLetter: asLetter, doubtfulUpTo: doubtfulUpTo)
        }
        guard isOver else { return }
        entries.remove(at: place)
        if !records.isEmpty { records[id] = nil }
    }

    private mutating func change(
        _ id: EventID,
        of receiver: NotedReceiver,
        _ change: (inout CustodyEntry.Debt) -> Void
    ) {
        if let place = queue.place(of: id) { entries[id] = queue.take(at: place) }
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
                    attempts: debt.attempts(hostStarts: hostStarts),
                    strikes: debt.strikes,
                    letter: debt.letter
                )
            }
        }
        records = [:]
        return found
    }
}
