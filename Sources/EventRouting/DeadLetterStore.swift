import BridgePlatform
import BridgeProtocol
package import DomainEvents
import Locks

/// Keeps the dead letters of a bridge, announces them, and pauses peers that cause more of them than it can keep.
package final class DeadLetterStore: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, which is taken before the lock of any peer or link.
    private let reports: ReportStrand
    /// Notes what becomes of the letters whose events lie in a journal.
    ///
    /// A letter that comes or goes is noted under `lock`, so that notes are in the order of what happened. A journal
    /// calls no other code while it takes notes.
    private let journal: PublisherRecording
    private let lock = Lock()
    private var queue: DeadLetterQueue
    private var lastNumber: UInt64 = 0
    /// The peers that get no events until there is room for another letter.
    private var paused: [Peer] = []

    package init(bounds: DeadLetterBounds, reports: ReportStrand, journal: PublisherRecording) {
        self.reports = reports
        self.journal = journal
        queue = DeadLetterQueue(bounds: bounds)
    }

    /// All letters, oldest first.
    package var letters: [DeadLetterRecord] { lock.withLock { queue.letters } }

    /// The letters with greater numbers than this one, oldest first.
    package func letters(after number: UInt64) -> ArraySlice<DeadLetterRecord> {
        lock.withLock { queue.letters(after: number) }
    }

    /// The letter of this number; nil if there is none.
    package func letter(_ number: UInt64) -> DeadLetterRecord? { lock.withLock { queue.letter(number) } }

    // MARK: - Coming

    /// Keeps an event that `peer` got and could not handle, even beyond the bounds; if the queue is full afterwards,
    /// pauses the peer.
    func add(_ event: UndeliveredEvent, cause: EventDeadLettered.Cause, reasons: [String], from peer: Peer) {
        peer.letterIsKept()
        let (letter, evicted, full): (DeadLetterRecord, [DeadLetterRecord], DeadLettersFull?) = lock.withLock {
            let (letter, evicted) = put(event, for: peer.noted, cause, reasons)
            guard queue.isFull, !paused.contains(where: { $0 === peer }) else { return (letter, evicted, nil) }
            paused.append(peer)
            peer.setPaused(true)
            let full = DeadLettersFull(worker: peer.peerName, letters: queue.letters.count, bytes: queue.bytes)
            return (letter, evicted, full)
        }
        announce(letter, evicted)
        guard let full else { return }
        peer.pauseChanged()
        reports.publish(full)
    }

    /// Keeps an event for a receiver that cannot be paused, if there is room.
    ///
    /// - Parameter isKept: whether the event is kept even when the queue is full: it was a dead letter before, or an
    ///   earlier host owed it.
    /// - Returns: Whether the store has kept the event.
    func addIfRoom(
        _ event: UndeliveredEvent,
        for receiver: NotedReceiver,
        cause: EventDeadLettered.Cause,
        reasons: [String],
        isKept: Bool = false
    ) -> Bool {
        let added: (DeadLetterRecord, [DeadLetterRecord])? = lock.withLock {
            queue.isFull && !isKept ? nil : put(event, for: receiver, cause, reasons)
        }
        guard let (letter, evicted) = added else { return false }
        announce(letter, evicted)
        return true
    }

    /// The caller holds the lock.
    private func put(
        _ event: UndeliveredEvent,
        for receiver: NotedReceiver,
        _ cause: EventDeadLettered.Cause,
        _ reasons: [String]
    ) -> (DeadLetterRecord, [DeadLetterRecord]) {
        lastNumber += 1
        let letter = DeadLetterRecord(
            number: lastNumber,
            notedReceiver: receiver,
            event: event,
            cause: cause,
            reasons: reasons,
            nanosecondsSinceEpoch: WallClock.now()
        )
        let evicted = queue.add(letter)
        for gone in evicted { note(goneOf: gone, isOwedAgain: false) }
        note(letter)
        return (letter, evicted)
    }

    private func announce(_ letter: DeadLetterRecord, _ evicted: [DeadLetterRecord]) {
        for gone in evicted {
            reports.publish(
                DeadLetterEvicted(
                    event: gone.event.name,
                    id: gone.event.context.id.description,
                    worker: gone.receiver,
                    letter: gone.number
                ),
                causedBy: gone.event.context
            )
        }
        reports.publish(
            EventDeadLettered(
                event: letter.event.name,
                id: letter.event.context.id.description,
                worker: letter.receiver,
                cause: letter.cause,
                reasons: letter.reasons,
                attempts: letter.event.attempts,
                letter: letter.number
            ),
            causedBy: letter.event.context,
            bytes: letter.reasons.reduce(0) { $0 + $1.utf8.count }
        )
    }

    // MARK: - Going

    /// Takes a letter out; ``roomWasMade()`` or ``putBack(_:)`` has to follow.
    ///
    /// - Parameter isOwedAgain: whether the letter's event is owed to a worker again; if not, it is owed to no process.
    func take(_ number: UInt64, isOwedAgain: (DeadLetterRecord) -> Bool) -> DeadLetterRecord? {
        lock.withLock {
            guard let letter = queue.take(number) else { return nil }
            note(goneOf: letter, isOwedAgain: isOwedAgain(letter))
            return letter
        }
    }

    /// Puts a letter back, because the receiver does not take the event.
    func putBack(_ letter: DeadLetterRecord) {
        lock.withLock {
            queue.putBack(letter)
            note(letter)
        }
    }

    /// Notes in the journal that an event is a letter, if the event lies there; the caller holds the lock.
    private func note(_ letter: DeadLetterRecord) {
        if letter.event.isOwed { journal.note(.letter(letter.noted)) }
    }

    /// Notes in the journal that a letter is no more, if its event lies there; the caller holds the lock.
    private func note(goneOf letter: DeadLetterRecord, isOwedAgain: Bool) {
        guard letter.event.isOwed else { return }
        journal.note(.letterGone(letter.event.context.id, of: letter.notedReceiver, isOwedAgain: isOwedAgain))
    }

    /// Keeps the letters that an earlier host has left, oldest first, even beyond the bounds; nothing is announced.
    package func restore(_ letters: [DeadLetterRecord]) {
        lock.withLock {
            lastNumber = letters.reduce(lastNumber) { max($0, $1.number) }
            queue.restore(letters)
        }
    }

    /// Lets the paused peers go on, if there is room for another letter.
    func roomWasMade() {
        let resumed = lock.withLock {
            guard !queue.isFull else { return [Peer]() }
            for peer in paused { peer.setPaused(false) }
            defer { paused = [] }
            return paused
        }
        for peer in resumed { peer.pauseChanged() }
    }

    /// Throws a letter away, and returns the letter; nil if none has this number.
    package func discard(_ number: UInt64) -> DeadLetterRecord? {
        guard let letter = take(number, isOwedAgain: { _ in false }) else { return nil }
        roomWasMade()
        return letter
    }
}
