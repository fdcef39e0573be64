import Locks
import Synchronization

/// The events that were published inside a transaction and wait for its end.
///
/// A transaction inside another one of the same publisher has joined it: as long as the body of the outer transaction
/// runs, the outer transaction holds what is published. After that, the inner transaction holds what is published in it
/// until its own body has returned.
final class Transaction: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, so `held` needs no check of exclusive access.

    private enum Phase {
        case bodyRuns
        /// A thread publishes what is held; events of tasks that outlived the body are held as well.
        ///
        /// Otherwise the next event of such a task would overtake its earlier ones.
        case publishing
        /// Events are held, and the next thread that comes publishes them.
        case handedOver
        case ended
    }

    private let publisher: EventPublisher
    /// The transaction around this one, of any publisher; nil if there is none.
    private let outer: Transaction?
    /// The transaction of the same publisher that this one has joined; nil if there is none.
    private let joined: Transaction?
    private let lock = Lock()
    /// Nil if no event is held.
    @exclusivity(unchecked) private var held: UnpublishedEvents?
    private var phase = Phase.bodyRuns
    /// Whether `phase` is `ended`, for readers without the lock.
    private let hasEnded = Atomic(false)

    /// After this many events a thread hands the rest over, so that it can go on even if tasks keep publishing.
    private static let burst = 1_024

    /// The transactions that the current task is in, innermost first.
    @TaskLocal static var current: Transaction?

    init(of publisher: EventPublisher) {
        self.publisher = publisher
        outer = Self.current
        joined = Self.current(of: publisher)
    }

    deinit {
        // Events have to go before the publisher, which holds their channels.
        held = nil
    }

    /// The transaction of this publisher that the current task is in.
    static func current(of publisher: EventPublisher) -> Transaction? {
        var transaction = current
        while let candidate = transaction {
            if candidate.publisher === publisher, !candidate.hasEnded.load(ordering: .acquiring) { return candidate }
            transaction = candidate.outer
        }
        return nil
    }

    // MARK: - Holding

    /// Keeps a copy of an event; returns false if this transaction and those that it has joined have ended.
    ///
    /// While one handler runs, tasks that outlived the body may publish any number of events, because `publish` never
    /// waits. But once a thread has handed the rest over, the next task that publishes also publishes what is held. So
    /// the handlers slow a task that keeps publishing, as they would without a transaction.
    func hold(_ event: RawEvent, _ stamp: EventStamp, of channel: AnyEventChannel) -> Bool {
        if holdForBody(event, stamp, of: channel) { return true }
        // Inside a handler, this thread does not publish what is held: the event in hand comes first.
        let isInHandler = DeliveryThread.current.isDelivering
        let (isHeld, isNext) = lock.withLock {
            guard phase != .ended else { return (false, false) }
            append(event, stamp, of: channel)
            guard phase == .handedOver, !isInHandler else { return (true, false) }
            phase = .publishing
            return (true, true)
        }
        // The handlers are not inside this transaction.
        if isNext { Self.$current.withValue(outer) { publishHeld() } }
        return isHeld || (joined?.hold(event, stamp, of: channel) ?? false)
    }

    /// Keeps a copy of an event as the other `hold` does, for a caller that has the event as a value of its type.
    func hold<E: DomainEvent>(_ event: E, _ stamp: EventStamp, of channel: EventChannel<E>) -> Bool {
        withUnsafePointer(to: event) { hold(RawEvent(reading: $0), stamp, of: channel) }
    }

    /// Keeps the event in the outermost joined transaction whose body runs; returns false if no body runs.
    private func holdForBody(_ event: RawEvent, _ stamp: EventStamp, of channel: AnyEventChannel) -> Bool {
        if let joined, joined.holdForBody(event, stamp, of: channel) { return true }
        return lock.withLock {
            guard phase == .bodyRuns else { return false }
            append(event, stamp, of: channel)
            return true
        }
    }

    /// Called with the lock held.
    private func append(_ event: RawEvent, _ stamp: EventStamp, of channel: AnyEventChannel) {
        if held == nil { held = UnpublishedEvents() }
        // A constant for `held` would count a reference to it.
        if let held = held.map({ Unmanaged.passUnretained($0) }) {
            held._withUnsafeGuaranteedRef { $0.append(event, stamp, of: channel) }
        }
    }

    // MARK: - Ending

    /// Publishes what is held, in order; called when the body has returned.
    func publishAll() {
        if enterPublishing(from: .bodyRuns) { publishHeld() }
    }

    /// Drops what is held; does nothing if ``publishAll()`` was called.
    func drop() {
        let (isOver, dropped): (Bool, UnpublishedEvents?) = lock.withLock {
            guard phase == .bodyRuns else { return (false, nil) }
            end()
            return (true, held.take())
        }
        // The deinit of an event may publish, so the events are released without the lock.
        withExtendedLifetime(dropped) {}
        if isOver { publisher.openTransactions.wrappingSubtract(1, ordering: .relaxed) }
    }

    /// Called with the lock held.
    private func end() {
        phase = .ended
        hasEnded.store(true, ordering: .releasing)
    }

    private func enterPublishing(from expected: Phase) -> Bool {
        lock.withLock {
            guard phase == expected else { return false }
            phase = .publishing
            return true
        }
    }

    /// Publishes what is held until nothing is left, which ends the transaction, or hands the rest over.
    private func publishHeld() {
        var published = 0
        while true {
            let (batch, now): (UnpublishedEvents?, Phase) = lock.withLock {
                if held == nil { end() } else if published >= Self.burst { phase = .handedOver }
                return (phase == .publishing ? held.take() : nil, phase)
            }
            switch now {
            case .ended:
                publisher.openTransactions.wrappingSubtract(1, ordering: .relaxed)
                return
            case .handedOver:
                // If no task publishes again, another thread publishes the rest.
                StrandExecutor.anywhere.schedule { if self.enterPublishing(from: .handedOver) { self.publishHeld() } }
                return
            case .bodyRuns, .publishing:
                guard let batch else { continue }
                // Each event goes behind the events that the joined transaction still holds.
                batch.publish(from: publisher, behind: joined)
                published += batch.count
            }
        }
    }
}

extension EventPublisher {
    /// Holds the events published to this publisher inside `body` until `body` has returned; drops them if it throws.
    ///
    /// With a transaction, events are published only after the change is saved:
    ///
    /// ```swift
    /// try publisher.transaction {
    ///     warehouse.remove(box)                 // publishes BoxRemoved
    ///     try context.save()                    // throws: no subscriber ever hears of it
    /// }
    /// ```
    ///
    /// The events keep their order, and the identities and causes that they had when they were published. The
    /// transaction covers the task (or, outside tasks, the thread) that runs `body`, and the tasks that `body` starts
    /// undetached. A transaction inside another of the same publisher joins it: the outer one holds its events. If the
    /// inner transaction throws and the outer goes on, the events of the inner are still held. To be able to drop the
    /// events of one part, use a transaction for that part alone. An inner transaction may be in a task that outlives
    /// the body of the outer one. After the outer body has returned, the inner transaction holds what is published in
    /// it until its own body has returned, and drops that if its own body throws.
    ///
    /// A task that outlives `body` publishes its further events behind those that it has published inside `body`.
    ///
    /// Inside a transaction ``send(_:)-(E)`` takes the event and does not wait for room.
    /// ``deliver(_:within:clock:)-(E,_,_)`` and ``request(_:awaiting:within:clock:where:)`` throw, as they would wait
    /// for a held event.
    public func transaction<R>(_ body: () throws -> R) rethrows -> R {
        let transaction = beginTransaction()
        defer { transaction.drop() }
        let result = try Transaction.$current.withValue(transaction, operation: body)
        transaction.publishAll()
        return result
    }

    /// Holds the events published to this publisher inside `body` until `body` has returned; drops them if it throws or
    /// the task was cancelled meanwhile.
    ///
    /// - Throws: What `body` throws; `CancellationError` if the task was cancelled before `body` returned. Either way
    ///   the events were dropped, except those that an outer transaction holds or has published.
    public func transaction<R>(_ body: () async throws -> R) async throws -> R {
        let transaction = beginTransaction()
        defer { transaction.drop() }
        let result = try await Transaction.$current.withValue(transaction, operation: body)
        try Task.checkCancellation()
        transaction.publishAll()
        return result
    }

    private func beginTransaction() -> Transaction {
        openTransactions.wrappingAdd(1, ordering: .relaxed)
        return Transaction(of: self)
    }
}
