import DomainEvents
import Locks

/// A recorder's log, and the waits for events that are not in the log yet.
final class RecordedEvents: EventObserver, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var events: [any DomainEvent] = []
    private var isTaken: Set<Int> = []
    /// For each type, the index at which the next search begins: `next` has returned all earlier events of the type.
    private var searchedBefore: [ObjectIdentifier: Int] = [:]
    /// Held while a call subscribes to a channel, so a second call returns only after that; taken before `lock`.
    private let recording = Lock()
    private var types: Set<ObjectIdentifier> = []
    private var channels: Set<ObjectIdentifier> = []
    /// The subscriptions; nil after the recorder was released.
    private var subscriptions: [Subscription]? = []
    private var recordsAll = false
    private var waiters: [Waiter] = []
    /// The waits that have not returned.
    private var open: Set<Int> = []
    /// The errors of the waits that ended before they had begun.
    private var givenUp: [Int: any Error] = [:]
    private var tickets = 0

    private struct Waiter {
        let ticket: Int
        /// Returns a closure that hands the event to the wait; nil if the event does not have the awaited type.
        let accept: (any DomainEvent) -> (() -> Void)?
        let fail: (any Error) -> Void
    }

    var all: [any DomainEvent] { lock.withLock { events } }

    func recordAll() {
        lock.withLock { recordsAll = true }
    }

    /// Records the events of this channel from now on; does nothing if they are already recorded.
    func record(_ channel: AnyEventChannel, of publisher: EventPublisher) {
        let tooLate = recording.withLock { () -> Subscription? in
            let isNew = lock.withLock {
                types.insert(ObjectIdentifier(channel.eventType))
                return channels.insert(ObjectIdentifier(channel)).inserted
            }
            guard isNew else { return nil }
            let subscription = channel.subscribe(self, publisher: publisher)
            return lock.withLock {
                guard subscriptions != nil else { return subscription }
                if let subscription { subscriptions?.append(subscription) }
                return nil
            }
        }
        tooLate?.cancel()
    }

    func endSubscriptions() {
        let ended = lock.withLock { subscriptions.take() }
        for subscription in ended ?? [] { subscription.cancel() }
    }

    func makeTicket() -> Int {
        lock.withLock {
            tickets += 1
            open.insert(tickets)
            return tickets
        }
    }

    func returnTicket(_ ticket: Int) {
        lock.withLock {
            open.remove(ticket)
            givenUp[ticket] = nil
        }
    }

    func observe<E: DomainEvent>(_ event: E) {
        let resume: (() -> Void)? = lock.withLock {
            events.append(event)
            for (index, waiter) in waiters.enumerated() {
                if let resume = waiter.accept(event) {
                    waiters.remove(at: index)
                    isTaken.insert(events.count - 1)
                    return resume
                }
            }
            return nil
        }
        resume?()
    }

    /// Calls `answer`: at once if the event is there or the wait has failed already, otherwise when the event comes or
    /// the wait is given up or cancelled.
    func take<E: DomainEvent>(
        _ type: E.Type,
        named name: String,
        ticket: Int,
        isCancelled: Bool,
        answer: @escaping (Result<E, any Error>) -> Void
    ) {
        let result: Result<E, any Error>? = lock.withLock {
            if isCancelled { return .failure(CancellationError()) }
            guard recordsAll || types.contains(ObjectIdentifier(type)) else {
                return .failure(failure(name, "\(name) is not among the types that this recorder was made for"))
            }
            let begin = searchedBefore[ObjectIdentifier(type), default: 0]
            searchedBefore[ObjectIdentifier(type)] = events.count
            for index in begin..<events.count where !isTaken.contains(index) {
                if let event = events[index] as? E {
                    isTaken.insert(index)
                    searchedBefore[ObjectIdentifier(type)] = index + 1
                    return .success(event)
                }
            }
            if let error = givenUp.removeValue(forKey: ticket) { return .failure(error) }
            waiters.append(
                Waiter(
                    ticket: ticket,
                    accept: { event in (event as? E).map { event in { answer(.success(event)) } } },
                    fail: { answer(.failure($0)) }
                )
            )
            return nil
        }
        if let result { answer(result) }
    }

    func giveUp(_ ticket: Int, _ name: String, after limit: Duration) {
        let error = lock.withLock { failure(name, "no \(name) was published within \(limit)") }
        end(ticket, error)
    }

    func cancel(_ ticket: Int) {
        end(ticket, CancellationError())
    }

    private func end(_ ticket: Int, _ error: any Error) {
        let waiter: Waiter? = lock.withLock {
            guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else {
                // The waiting task has not added its waiter yet, or has its answer.
                if open.contains(ticket) { givenUp[ticket] = error }
                return nil
            }
            return waiters.remove(at: index)
        }
        waiter?.fail(error)
    }

    private func failure(_ name: String, _ problem: String) -> EventNotRecorded {
        EventNotRecorded(name, problem: problem, recorded: events, taken: isTaken)
    }
}

/// Adds each event type to a recorder when the publisher uses the type for the first time.
final class RecorderRegistration: InterestObserver {
    let isBridge = false

    private weak let publisher: EventPublisher?
    private let log: RecordedEvents

    init(_ publisher: EventPublisher, _ log: RecordedEvents) {
        self.publisher = publisher
        self.log = log
        log.recordAll()
    }

    func channelWasMade(_ channel: AnyEventChannel) {
        if let publisher { log.record(channel, of: publisher) }
    }

    func interestMayHaveChanged(in name: String) {}
}
