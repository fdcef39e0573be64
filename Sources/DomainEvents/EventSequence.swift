import Locks

/// The events of one type, for `for try await`; each iterator has a subscription and a buffer of its own.
///
/// The first iterator is subscribed before `events(of:)` returns, each further iterator when it is made. The sequence
/// ends at once when the task is cancelled or the iterator is released. When the publisher is released, the sequence
/// ends after the buffered events; the sequence does not keep the publisher alive. If a consumer's buffer overflows,
/// the consumer gets ``EventsMissed`` at the place of the missed events; it may go on after that.
public struct EventSequence<E: DomainEvent>: AsyncSequence, Sendable {
    /// The events.
    public typealias Element = E

    private let consumers: Consumers<E>

    init(_ consumers: Consumers<E>) {
        self.consumers = consumers
    }

    /// Makes a consumer that is independent of the others.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: consumers.next())
    }

    /// Takes the events one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let consumer: Consumer

        /// The next event; nil after the task was cancelled or the publisher was released.
        ///
        /// An event counts as handled when its consumer asks for the next event.
        /// - Throws: ``EventsMissed``, at the place of the events that the consumer missed.
        @inlinable
        public mutating func next() async throws -> E? {
            try await consumer.next()?.move(as: E.self)
        }

        /// The next event; nil after the task was cancelled or the publisher was released.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> E? {
            try await consumer.next()?.move(as: E.self)
        }
    }
}

/// The events of one type with their contexts, for `for try await`; otherwise like ``EventSequence``.
///
/// An event counts as handled when its consumer asks for the next event.
public struct DeliverySequence<E: DomainEvent>: AsyncSequence, Sendable {
    /// The events with their contexts.
    public typealias Element = Delivery<E>

    private let consumers: Consumers<E>

    init(_ consumers: Consumers<E>) {
        self.consumers = consumers
    }

    /// Makes a consumer that is independent of the others.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: consumers.next())
    }

    /// Takes the events one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let consumer: Consumer

        /// The next event; nil after the task was cancelled or the publisher was released.
        /// - Throws: ``EventsMissed``, at the place of the events that the consumer missed.
        @inlinable
        public mutating func next() async throws -> Delivery<E>? {
            try await consumer.nextDelivery()
        }

        /// The next event; nil after the task was cancelled or the publisher was released.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Delivery<E>? {
            try await consumer.nextDelivery()
        }
    }
}

/// The events of one type and the places where events were missed, for `for await`; never throws, otherwise like
/// ``EventSequence``.
public struct EventAndGapSequence<E: DomainEvent>: AsyncSequence, Sendable {
    /// Events and gaps.
    public typealias Element = EventOrGap<E>
    /// No error: the sequence never throws.
    public typealias Failure = Never

    private let consumers: Consumers<E>

    init(_ consumers: Consumers<E>) {
        self.consumers = consumers
    }

    /// Makes a consumer that is independent of the others.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: consumers.next())
    }

    /// Takes events and gaps one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let consumer: Consumer

        /// The next event or gap; nil after the task was cancelled or the publisher was released.
        public mutating func next() async -> EventOrGap<E>? {
            await consumer.nextItem()
        }

        /// The next event or gap; nil after the task was cancelled or the publisher was released.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> EventOrGap<E>? {
            await consumer.nextItem()
        }
    }
}

/// A buffer and the subscription that fills it; released together with the iterator.
@usableFromInline
final class Consumer: Sendable {
    let buffer: SequenceBuffer
    /// Nil if the publisher was released before the consumer was made.
    private let subscription: Subscription?

    /// - Parameter publisher: nil if it was released; then the consumer gets the end at once.
    init<E>(
        _ channel: EventChannel<E>,
        of publisher: EventPublisher?,
        source: EventSource,
        buffering: EventBuffering<E>,
        site: SubscriptionSite
    ) {
        buffer = SequenceBuffer(site: site, name: channel.name, source: source, buffering: buffering)
        subscription = publisher?.subscribe(to: channel, deferred: buffer)
        if publisher == nil { buffer.publisherWasReleased() }
    }

    private func step() async -> SequenceBuffer.Step {
        if let step = buffer.step() { return step }
        return await buffer.next()
    }

    /// The next event; the caller moves it out of its memory at once.
    @usableFromInline
    func next() async throws -> RawEvent? {
        switch await step() {
        case .event(let event): return event
        case .gap(let gap): throw EventsMissed(gap: gap)
        case .end: return nil
        }
    }

    @inlinable
    func nextDelivery<E: DomainEvent>() async throws -> Delivery<E>? {
        guard let event = try await next() else { return nil }
        return Delivery(event: event.move(as: E.self), context: context)
    }

    @usableFromInline var context: EventContext { buffer.context }

    func nextItem<E: DomainEvent>() async -> EventOrGap<E>? {
        switch await step() {
        case .event(let event): .event(event.move(as: E.self))
        case .gap(let gap): .gap(gap)
        case .end: nil
        }
    }
}

/// Makes a sequence's consumers; the first one is subscribed together with the sequence.
final class Consumers<E: DomainEvent>: @unchecked Sendable {
    // Sendable: `first` is guarded by `lock`, the rest is constant.
    private let lock = Lock()
    private var first: Consumer?
    private let channel: EventChannel<E>
    private let source: EventSource
    /// Weak, because the sequence ends when its publisher is released, also if a consumer keeps the sequence.
    private weak let publisher: EventPublisher?
    private let buffering: EventBuffering<E>
    private let site: SubscriptionSite

    init(
        _ channel: EventChannel<E>,
        of publisher: EventPublisher,
        buffering: EventBuffering<E>,
        site: SubscriptionSite
    ) {
        self.channel = channel
        source = publisher.source
        self.publisher = publisher
        self.buffering = buffering
        self.site = site
        first = Consumer(channel, of: publisher, source: source, buffering: buffering, site: site)
    }

    func next() -> Consumer {
        let waiting = lock.withLock { first.take() }
        let consumer = waiting ?? Consumer(channel, of: publisher, source: source, buffering: buffering, site: site)
        consumer.buffer.startIterating()
        return consumer
    }
}
