import Locks
import Synchronization

extension EventPublisher {
    /// Waits until every consumer and link (except attached clients' links) has room for the event, then publishes it.
    ///
    /// Inside a handler this does not wait for room: outboxes take the event up to the hard limit, and beyond it this
    /// throws. An undetached task of an asynchronous handler counts as inside the handler until the call that started
    /// the task has returned; no later call may wait for such a task. If a journal of this process has to make the
    /// event safe against a power cut, this returns when that is done, even inside a handler. Inside a transaction this
    /// waits for nothing: the event is published later.
    /// - Throws: ``DeliveryError`` if no room will come, an outbox does not take the event, or the bridge has ended and
    ///   nothing here subscribes. `CancellationError` if the task was cancelled before or while it waited for room;
    ///   then the event was not published. The journal's error if the journal could not make the event safe; the event
    ///   was published all the same. If the journal could not record the event, a ``HandlerFailed`` follows, as with
    ///   ``publish(_:)-(E)``.
    /// - Returns: The event's identity. Outside a transaction the event lies in every outbox whose policy keeps it.
    @discardableResult
    public func send<E: DomainEvent>(_ event: E) async throws -> EventID {
        if openTransactions.load(ordering: .relaxed) != 0,
            let id = try sendInTransaction(event, to: channel(of: E.self), as: makeContext())
        {
            return id
        }
        if let id = try sendNow(event) { return id }
        return try await sendWhenRoom(event, to: channel(of: E.self), as: makeContext())
    }

    func send<E: DomainEvent>(_ event: E, to channel: EventChannel<E>) async throws -> EventID {
        if openTransactions.load(ordering: .relaxed) != 0,
            let id = try sendInTransaction(event, to: channel, as: makeContext())
        {
            return id
        }
        if let id = try sendNow(event, to: channel) { return id }
        return try await sendWhenRoom(event, to: channel, as: makeContext())
    }

    /// Holds an event until the body of the calling task's transaction has returned.
    ///
    /// - Parameter context: makes the event's context.
    /// - Returns: The event's identity; nil, and the event is not published, if no open transaction holds it.
    func sendInTransaction<E: DomainEvent>(
        _ event: E,
        to channel: EventChannel<E>,
        as context: @autoclosure () -> EventContext
    ) throws(DeliveryError) -> EventID? {
        guard let transaction = Transaction.current(of: self) else { return nil }
        let context = context()
        if channel.currentSubscribers() == nil { try refuseAfterShutdown(channel.name, context) }
        return transaction.hold(event, .full(context), of: channel) ? context.id : nil
    }

    /// Waits for room, publishes, and returns when the event is safe; a separate function, so that ``send(_:)-(E)``
    /// takes no memory for a rare wait.
    ///
    /// - Parameter context: makes the event's context.
    func sendWhenRoom<E: DomainEvent>(
        _ event: E,
        to channel: EventChannel<E>,
        as context: @autoclosure () -> EventContext
    ) async throws -> EventID {
        while true {
            // The event gets its context after the wait, because the context says when the event was published.
            var reserved = try await reserveRoom(for: event, in: channel) { context().id }
            defer { for room in reserved { room.giveBack() } }
            let context = context()
            guard let subscribers = channel.currentSubscribers() else {
                // The bridge may have shut down while the caller waited for room.
                try refuseAfterShutdown(channel.name, context)
                return context.id
            }
            let destinations = channel.destinations(
                from: Destination(channel: channel, subscribers: subscribers, publisher: self)
            )
            switch channel.publish(event, context: context, to: destinations, ifFull: Self.actionInTurn) {
            case .taken: break
            case .failed(let failure): throw failure.identified(by: context.id)
            // Many callers may have got their turn at once, and others have filled the room.
            case .awaitsRoom: continue
            }
            if subscribers.isSafeLater {
                // Other events may use these places while this call waits for the journal.
                for room in reserved { room.giveBack() }
                reserved = []
                // A handler may have closed such a journal by now; `destinations` still has it.
                try await LaterRecorders(of: destinations).untilSafe()
            }
            return context.id
        }
    }

    /// What becomes of an event for which the caller has waited, if other events have filled the room since.
    private static var actionInTurn: FullOutboxAction {
        // A handler has not waited, and never waits for room.
        EventContext.isInHandler ? .fail : .turn
    }

    /// Publishes an event without a suspension if the caller need not wait for room, which is the common case.
    ///
    /// - Returns: The event's identity; nil, and the event is not published, if the caller may have to wait for room or
    ///   for a journal.
    private func sendNow<E: DomainEvent>(_ event: E) throws(DeliveryError) -> EventID? {
        guard let found = channels.channel(for: UInt(bitPattern: ObjectIdentifier(E.self).hashKey)) else {
            return try sendNow(event, to: channel(of: E.self))
        }
        // The publisher owns its channels. The table maps a type's identity to the channel that was made for it.
        let sent: Result<EventID?, DeliveryError> = found._withUnsafeGuaranteedRef { found in
            do throws(DeliveryError) {
                return .success(try sendNow(event, to: unsafeDowncast(found, to: EventChannel<E>.self)))
            } catch {
                return .failure(error)
            }
        }
        return try sent.get()
    }

    private func sendNow<E: DomainEvent>(_ event: E, to channel: EventChannel<E>) throws(DeliveryError) -> EventID? {
        let isInHandler = EventContext.isInHandler
        let sent = DeliveryThread.unmanaged._withUnsafeGuaranteedRef {
            channel.forwardAlone(event, from: self, ifFull: isInHandler ? .fail : .wait, on: $0)
        }
        if let sent { return try id(of: sent.number, if: sent.outcome) }
        if isInHandler { return try sendInHandler(event, to: channel) }
        guard let subscribers = channel.currentSubscribers() else {
            let context = makeContext(causedBy: EventContext.handledByTask)
            try refuseAfterShutdown(channel.name, context)
            return context.id
        }
        guard subscribers.deferred.isEmpty, subscribers.links.isEmpty else { return nil }
        let context = makeContext(causedBy: EventContext.handledByTask)
        let outcome = channel.publish(event, context: context, to: subscribers, from: self, ifFull: .wait)
        return try id(of: context.id.number, if: outcome)
    }

    /// Publishes an event in a handler, which never waits for room: room comes only when handlers return.
    private func sendInHandler<E: DomainEvent>(
        _ event: E,
        to channel: EventChannel<E>
    ) throws(DeliveryError) -> EventID? {
        let context = makeContext()
        guard let subscribers = channel.currentSubscribers() else {
            try refuseAfterShutdown(channel.name, context)
            return context.id
        }
        if subscribers.isSafeLater { return nil }
        let outcome = channel.publish(event, context: context, to: subscribers, from: self, ifFull: .fail)
        return try id(of: context.id.number, if: outcome)
    }

    /// - Returns: The identity of an event of this publisher; nil if the caller has to wait for room.
    private func id(of number: UInt64, if outcome: Forwarded) throws(DeliveryError) -> EventID? {
        let id = EventID(source: source, number: number)
        switch outcome {
        case .taken: return id
        case .failed(let failure): throw failure.identified(by: id)
        case .awaitsRoom: return nil
        }
    }

    /// - Parameter id: gives the event's identity, for the error if no room will come.
    /// - Returns: The rooms that keep a place for the event until the caller gives the place back.
    private func reserveRoom<E: DomainEvent>(
        for event: E,
        in channel: EventChannel<E>,
        id: () -> EventID
    ) async throws -> [Room] {
        // A handler never waits for room: room comes only when handlers return.
        if EventContext.isInHandler { return [] }
        guard let destinations = destinations(of: channel) else { return [] }
        for forwarder in destinations.forwarders where !forwarder.hasRoom {
            do {
                try await forwarder.waitForRoom(for: event)
            } catch let failure as DeliveryError {
                throw failure.identified(by: id())
            }
        }
        var reserved: [Room] = []
        do {
            // All callers reserve places in the same order, so they never wait in a circle.
            for room in destinations.roomsInOrder {
                if Task.isCancelled || !room.reserveAtOnce() { try await room.reserve() }
                reserved.append(room)
            }
        } catch {
            for room in reserved { room.giveBack() }
            throw error
        }
        return reserved
    }

    /// - Returns: The rooms that keep a place for an event until the caller gives the place back; nil if the caller may
    ///   have to wait for room.
    func reserveRoomAtOnce(at destinations: Destinations, isInHandler: Bool) -> [Room]? {
        // A handler never waits for room, as in `reserveRoom`.
        if isInHandler { return [] }
        for forwarder in destinations.forwarders where !forwarder.hasRoom { return nil }
        if destinations.strandsOnlyRecord { return [] }
        let rooms = destinations.roomsInOrder
        for (index, room) in rooms.enumerated() where !room.reserveAtOnce() {
            for reserved in rooms[..<index] { reserved.giveBack() }
            return nil
        }
        return rooms
    }

    /// - Returns: Every publisher that an event of this publisher reaches now; nil if nothing gets the event.
    func destinations<E: DomainEvent>(of channel: EventChannel<E>) -> Destinations? {
        guard let subscribers = channel.currentSubscribers() else { return nil }
        return channel.destinations(from: Destination(channel: channel, subscribers: subscribers, publisher: self))
    }

    /// Publishes an event and returns when every handler of it has returned, here and in every process that gets it.
    ///
    /// Attached clients, and workers that acknowledge nothing, are not waited for. The call waits for room as
    /// ``send(_:)-(E)`` does. If an awaited worker dies before its handlers return, its next start gets the event
    /// again, unless the event is given up. When all handlers have returned, this throws the error of a handler that
    /// threw, and nothing reports that error. Every other error, also one that comes when this no longer waits, is
    /// reported as after ``publish(_:)-(E)``: a ``HandlerFailed`` follows, or an ``EventRefused`` and a dead letter.
    /// - Parameters:
    ///   - event: what happened.
    ///   - limit: how long this waits in all.
    ///   - clock: measures `limit`.
    /// - Throws: The first error: that of a handler here, or ``DeliveryError`` if another process refuses the event,
    ///   the event is given up, nothing subscribes to it, an outbox does not take it, or a process that should get it
    ///   is unavailable. If handlers are not done in time, the first error so far; if there is none, ``DeliveryError``
    ///   names these handlers. `CancellationError` if the task is cancelled. At the end of the time or after a
    ///   cancellation the event may have been delivered; if it has not left by then, it never will.
    /// - Returns: The event's identity, and how many handlers it had in each process.
    @discardableResult
    public func deliver<E: DomainEvent>(
        _ event: E,
        within limit: Duration,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> DeliveryReceipt {
        try await deliver(event, to: channel(of: E.self), within: limit, clock: clock)
    }

    func deliver<E: DomainEvent>(
        _ event: E,
        to channel: EventChannel<E>,
        within limit: Duration,
        clock: any Clock<Duration>
    ) async throws -> DeliveryReceipt {
        try refuseInTransaction("deliver", channel.name)
        let wait = DeliveryWait<DeliveryReceipt>()
        let context = makeContext()
        let ledger = receiptLedger(of: channel.name, context, for: wait)
        let unfinished = UnfinishedHandlers(lock: wait.lock)
        return try await deliver(event, context: context, to: channel, ledger, unfinished, wait, limit, clock) {
            ledger.notHandled(within: limit, unfinished)
        }
    }

    private func deliver<E: DomainEvent, Value: Sendable>(
        _ event: E,
        context: EventContext,
        to channel: EventChannel<E>,
        _ ledger: ReceiptLedger,
        _ unfinished: UnfinishedHandlers,
        _ wait: DeliveryWait<Value>,
        _ limit: Duration,
        _ clock: any Clock<Duration>,
        timeout: @escaping @Sendable () -> DeliveryError
    ) async throws -> Value {
        defer { ledger.close(claiming: wait.claimed) }
        try Task.checkCancellation()
        let deadline = DeliveryDeadline(after: limit, by: clock) { ledger.timeIsOver(timeout()) }
        defer { deadline.cancel() }
        if deliverAtOnce(event, context: context, to: channel, ledger, unfinished, wait) {
            return try await wait.value(by: deadline)
        }
        return try await wait.value(by: deadline) { [self] in
            var isOver = false
            while !isOver {
                let reserved = try await reserveRoom(for: event, in: channel) { context.id }
                defer { for room in reserved { room.giveBack() } }
                let destinations = destinations(of: channel)
                let ifFull = Self.actionInTurn
                isOver = try handOut(
                    event,
                    context: context,
                    in: channel,
                    to: destinations,
                    ifFull,
                    ledger,
                    unfinished,
                    wait
                )
            }
        }
    }

    /// Publishes an event and returns the first event of type `answer` that it causes, through any number of steps.
    ///
    /// A request begins a new chain of causes: it is the ``EventContext/root`` of every event that follows from it, up
    /// to a further request. Only events published in handlers, or with `causedBy:`, follow from it. If a journal of
    /// this process has to make the request or its answer safe against a power cut, this returns when that is done.
    /// - Parameters:
    ///   - event: the request.
    ///   - answer: the type of the answer.
    ///   - limit: how long this waits in all.
    ///   - clock: measures `limit`.
    ///   - matches: says whether a caused event is the answer, such as one case of an enum. It is also called for
    ///     events without a cause: if the request times out, its error says how many of those match.
    /// - Throws: ``DeliveryError`` if nothing subscribes to the event, an outbox does not take it, a process refuses it
    ///   or is unavailable, or there is no answer in time. The error of a handler of the event here, if all handlers
    ///   here have returned without an answer, or if the time is over. The error of a journal that could not make the
    ///   request or the answer safe. `CancellationError` if the task is cancelled. Errors that this does not throw are
    ///   reported, as for ``deliver(_:within:clock:)-(E,_,_)``.
    public func request<E: DomainEvent, Answer: DomainEvent>(
        _ event: E,
        awaiting answer: Answer.Type,
        within limit: Duration,
        clock: any Clock<Duration> = ContinuousClock(),
        where matches: @escaping @Sendable (Answer) -> Bool = { _ in true }
    ) async throws -> Answer {
        let wait = DeliveryWait<Answer>(untilSafe: true)
        let context = makeContext(causedBy: EventContext.current, isRoot: true)
        return try await request(
            event,
            context: context,
            wait: wait,
            answers: [
                answers(answer, to: context, where: matches) { Self.finish(wait, .success($0), recordedBy: $1) }
            ],
            within: limit,
            clock: clock
        )
    }

    /// Publishes an event and returns the first event of type `answer` that it causes; throws if it causes an event of
    /// type `failure` first.
    ///
    /// Otherwise like ``request(_:awaiting:within:clock:where:)``.
    /// - Throws: ``RequestFailed`` with the event of type `failure`; otherwise as the request without a failure type.
    public func request<E: DomainEvent, Answer: DomainEvent, Failure: DomainEvent>(
        _ event: E,
        awaiting answer: Answer.Type,
        orThrowing failure: Failure.Type,
        within limit: Duration,
        clock: any Clock<Duration> = ContinuousClock(),
        where matches: @escaping @Sendable (Answer) -> Bool = { _ in true }
    ) async throws -> Answer {
        let wait = DeliveryWait<Answer>(untilSafe: true)
        let context = makeContext(causedBy: EventContext.current, isRoot: true)
        return try await request(
            event,
            context: context,
            wait: wait,
            answers: [
                answers(answer, to: context, where: matches) {
                    Self.finish(wait, .success($0), recordedBy: $1)
                },
                answers(failure, to: context, where: { _ in true }) {
                    Self.finish(wait, .failure(RequestFailed($0)), recordedBy: $1)
                },
            ],
            within: limit,
            clock: clock
        )
    }

    /// Ends a request's wait when the request and its answer are safe.
    ///
    /// - Parameter journals: those that have recorded the answer; they count even if they are closed meanwhile.
    private static func finish<Value: Sendable>(
        _ wait: DeliveryWait<Value>,
        _ outcome: Result<Value, any Error>,
        recordedBy journals: LaterRecorders
    ) {
        var recorders = wait.recorders
        recorders.add(journals)
        recorders.whenSafe { error in wait.finish(error.map { .failure($0) } ?? outcome) }
    }

    private func answers<Answer: DomainEvent>(
        _ type: Answer.Type,
        to request: EventContext,
        where matches: @escaping @Sendable (Answer) -> Bool,
        _ take: @escaping @Sendable (Answer, LaterRecorders) -> Void
    ) -> AwaitedAnswers {
        let subscriber = AnswerSubscriber<Answer>(to: request.id, where: matches, take)
        let channel = channel(of: type)
        channel.add(deferred: subscriber)
        announceInterest(in: channel.name)
        return AwaitedAnswers(
            subscription: Subscription(gate: subscriber.gate, channel: channel, publisher: self),
            uncaused: { subscriber.uncaused }
        )
    }

    private func request<E: DomainEvent, Answer: DomainEvent>(
        _ event: E,
        context: EventContext,
        wait: DeliveryWait<Answer>,
        answers: [AwaitedAnswers],
        within limit: Duration,
        clock: any Clock<Duration>
    ) async throws -> Answer {
        defer { withExtendedLifetime(answers) {} }
        // The deadline holds these closures, but not the subscriptions, which end with the request.
        let uncaused = answers.map(\.uncaused)
        let channel = channel(of: E.self)
        try refuseInTransaction("request", channel.name)
        let id = context.id
        let ledger = ReceiptLedger(
            of: channel.name,
            context: context,
            endsAtFirstFailure: true,
            lock: wait.lock
        ) { [self] outcome in
            switch outcome {
            case .failed(let error, let held): wait.finish(.failure(error), claiming: held)
            case .handled(let handlers) where handlers.isEmpty:
                wait.finish(.failure(noSubscriberError(to: channel.name, id)))
            // The answer may still come: an event that a handler has caused may be under way.
            case .handled: break
            }
        }
        let unfinished = UnfinishedHandlers(lock: wait.lock)
        return try await deliver(event, context: context, to: channel, ledger, unfinished, wait, limit, clock) {
            let uncaused = uncaused.compactMap { $0() }
            let advice = "publish an answer inside the handler, or with causedBy:"
            let hint = uncaused.isEmpty ? "" : "; \(uncaused.joined(separator: ", ")): \(advice)"
            return DeliveryError(
                .timedOut,
                of: channel.name,
                id: id,
                "\(channel.name) \(id) was not answered by \(Answer.eventName) within \(limit)\(hint)"
            )
        }
    }

    private func refuseAfterShutdown(_ name: String, _ context: EventContext) throws(DeliveryError) {
        if let refusal = refusalAfterShutdown(of: name, context.id) { throw refusal }
    }

    private func refuseInTransaction(_ call: String, _ name: String) throws(DeliveryError) {
        guard Transaction.current(of: self) != nil else { return }
        throw DeliveryError(
            .insideTransaction,
            of: name,
            "\(call) of \(name) inside a transaction would wait for what the transaction holds; publish or send it"
        )
    }
}

/// What a bridge needs to publish its reports on its own thread.
extension EventPublisher {
    /// Whether any subscriber, in this process or in another, gets the events of this type.
    package func isReached<E: DomainEvent>(by type: E.Type) -> Bool { channel(of: type).isReached }

    /// Publishes an event that was made earlier, with the identity, time and cause that it got when it was made.
    package func publish<E: DomainEvent>(_ event: E, as context: EventContext) {
        let channel = channel(of: E.self)
        channel.publish(event, .full(context), from: self)
    }
}
