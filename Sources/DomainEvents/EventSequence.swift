import Locks

/// The events of one type, for `for try await`: each iterator sees every event from when it was made.
///
/// The sequence itself is subscribed from the moment `events(of:)` returns, for its first iterator. It ends when the task is
/// cancelled, or the iterator or the publisher released. A consumer that falls ``bufferLimit`` events behind gets what its buffer holds and then
/// ``EventsMissed``; it may go on after that.
public struct EventSequence<E: DomainEvent>: AsyncSequence, Sendable {
    /// The events.
    public typealias Element = E

    /// How many events wait for one consumer at most.
    public static var bufferLimit: Int { 65_536 }

    private let publisher: EventPublisher
    private let first: FirstConsumer<E>

    init(publisher: EventPublisher) {
        self.publisher = publisher
        first = FirstConsumer(Consumer(publisher: publisher, limit: Self.bufferLimit))
    }

    /// A consumer of its own.
    public func makeAsyncIterator() -> Iterator {
        let consumer = first.take() ?? Consumer(publisher: publisher, limit: Self.bufferLimit)
        consumer.buffer.startIterating()
        return Iterator(consumer: consumer)
    }

    /// Takes the events one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let consumer: Consumer<E>

        fileprivate init(consumer: Consumer<E>) {
            self.consumer = consumer
        }

        /// The next event; nil after the task was cancelled or the publisher released.
        ///
        /// An event from another process counts as handled when its consumer asks for the next.
        /// - Throws: ``EventsMissed``, in the place of the events that were missed.
        public mutating func next() async throws -> E? {
            try await consumer.buffer.next()
        }

        /// The next event; nil after the task was cancelled or the publisher released.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> E? {
            try await consumer.buffer.next()
        }
    }
}

/// A buffer and the subscription that fills it; released together with the iterator.
private final class Consumer<E: DomainEvent>: Sendable {
    let buffer: SequenceBuffer<E>
    private let subscription: Subscription

    init(publisher: EventPublisher, limit: Int) {
        buffer = SequenceBuffer(name: publisher.channel(of: E.self).name, limit: limit)
        subscription = publisher.subscribe(to: E.self, deferred: buffer)
    }
}

/// The consumer that a sequence was born with, for the first iterator that asks.
private final class FirstConsumer<E: DomainEvent>: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var consumer: Consumer<E>?

    init(_ consumer: Consumer<E>) {
        self.consumer = consumer
    }

    func take() -> Consumer<E>? {
        lock.withLock {
            defer { consumer = nil }
            return consumer
        }
    }
}

/// What waits for one consumer of a sequence.
private final class SequenceBuffer<E: DomainEvent>: DeferredSubscriber<E>, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let name: String
    private let limit: Int
    private let lock = Lock()
    private var waiting = DeliveryLine<E>()
    private var missed = 0
    private var isIterated = false
    private var isFinished = false
    private var handling: IncomingTracker?
    private var consumer: CheckedContinuation<Step, Never>?

    private enum Step: Sendable {
        case event(E)
        case missed(Int)
        case end
    }

    init(name: String, limit: Int) {
        self.name = name
        self.limit = limit
    }

    /// From now on an event counts as handled only when the consumer has asked for the next.
    func startIterating() {
        lock.withLock { isIterated = true }
    }

    override func receive(_ event: E, context: EventContext, tracker: IncomingTracker?) {
        var released: IncomingTracker?
        let resumed: (CheckedContinuation<Step, Never>, Step)? = lock.withLock {
            guard !isFinished else {
                released = tracker
                return nil
            }
            if let consumer {
                self.consumer = nil
                handling = tracker
                return (consumer, .event(event))
            }
            // Once something is missed everything is, until the consumer has been told: the gap keeps its place.
            guard missed == 0, waiting.count < limit else {
                missed += 1
                released = tracker
                return nil
            }
            // A sequence that nobody iterates makes nobody wait.
            if !isIterated { released = tracker }
            waiting.append(Delivery(event: event, context: context, tracker: isIterated ? tracker : nil))
            return nil
        }
        released?.handlerReturned(failure: nil)
        if let (consumer, step) = resumed { consumer.resume(returning: step) }
    }

    func next() async throws -> E? {
        finishHandling()
        let step: Step = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready: Step? = lock.withLock {
                    if let delivery = waiting.takeFirst() {
                        handling = delivery.tracker
                        return .event(delivery.event)
                    }
                    if missed > 0 {
                        defer { missed = 0 }
                        return .missed(missed)
                    }
                    if isFinished || Task.isCancelled { return .end }
                    precondition(consumer == nil, "two tasks wait for the next event of one iterator")
                    consumer = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            finish()
        }
        switch step {
        case .event(let event): return event
        case .missed(let count): throw EventsMissed(event: name, count: count, limit: limit)
        case .end: return nil
        }
    }

    override func discardWaiting() {
        finish()
    }

    private func finishHandling() {
        let done = lock.withLock {
            defer { handling = nil }
            return handling
        }
        done?.handlerReturned(failure: nil)
    }

    /// Ends the sequence: whoever waits in `next()` gets its end, and nobody is kept waiting for what is left.
    private func finish() {
        let (left, consumer) = lock.withLock {
            isFinished = true
            defer { self.consumer = nil }
            return (waiting.takeAll(), self.consumer)
        }
        finishHandling()
        for delivery in left { delivery.tracker?.handlerReturned(failure: nil) }
        consumer?.resume(returning: .end)
    }

    /// What waits is still to be had; then the sequence ends.
    override func publisherWasReleased() {
        let consumer = lock.withLock {
            isFinished = true
            defer { self.consumer = nil }
            return self.consumer
        }
        consumer?.resume(returning: .end)
    }
}
