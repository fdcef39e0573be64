import Dispatch
import DomainEvents
import TestSupport
import Testing

private struct Order: DomainEvent { let number: Int }
private struct Picked: DomainEvent { let number: Int }
private struct Packed: DomainEvent { let number: Int }
private struct OutOfStock: DomainEvent, Equatable { let number: Int }

@Suite("deliver returns when every handler has", .timeLimit(.minutes(5)))
struct DeliverTests {
    private let publisher = EventPublisher()

    @Test func withAReceiptThatCountsTheHandlersOfEveryKind() async throws {
        let log = Collected<String>()
        let ids = Collected<EventID?>()
        let sequence = publisher.events(of: Ping.self)
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { _ in
                log.add("inline")
                ids.add(EventContext.current?.id)
            },
            publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers"))) { _ in log.add("queue")
            },
            publisher.subscribe(to: Ping.self, on: .main) { _ in log.add("main") },
            publisher.subscribe(to: Ping.self) { (_: Ping) async in
                for _ in 0..<10 { await Task.yield() }
                log.add("task")
            },
        ]
        let receipt = try await publisher.deliver(Ping(1), within: .seconds(60))
        #expect(Set(log.all) == ["inline", "queue", "main", "task"])
        #expect(receipt.handlers == ["host": 5])
        #expect(ids.all == [receipt.id])
        for subscription in subscriptions { subscription.cancel() }
        withExtendedLifetime(sequence) {}
    }

    @Test func alsoAConsumerThatAsksForTheNext() async throws {
        let log = Collected<String>()
        let asked = Barrier()
        let consumer = Task { [sequence = publisher.events(of: Ping.self)] in
            var iterator = sequence.makeAsyncIterator()
            log.add("iterating")
            _ = try await iterator.next()
            await asked.pass()
            log.add("asks")
            _ = try await iterator.next()
        }
        await log.wait(for: 1)
        let delivery = Task { [publisher] in
            try await publisher.deliver(Ping(), within: .seconds(60))
            log.add("delivered")
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(log.count == 1)
        asked.open()
        try await delivery.value
        #expect(log.all == ["iterating", "asks", "delivered"])
        consumer.cancel()
        try await consumer.value
    }

    @Test func orThrowsThatNothingSubscribes() async {
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(Ping(), within: .seconds(60))
        }
        #expect(error?.code == .noSubscriber)
        let subscription = publisher.subscribe(to: Ping.self) { _ in }
        subscription.cancel()
        let again = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(Ping(), within: .seconds(60))
        }
        #expect(again?.code == .noSubscriber)
    }

    @Test(arguments: ["inline", "queue", "task"])
    func orThrowsWhatAHandlerThrowsAndReportsItNowhereElse(place: String) async {
        let reports = Collected<String>()
        let others = Counter()
        let handler: @Sendable (Ping) throws -> Void = { throw Refused(number: $0.number) }
        let failing =
            switch place {
            case "inline": publisher.subscribe(to: Ping.self, handler)
            case "queue": publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers")), handler)
            default:
                publisher.subscribe(to: Ping.self) { (event: Ping) async throws in
                    await Task.yield()
                    throw Refused(number: event.number)
                }
            }
        let subscriptions = [
            failing,
            publisher.subscribe(to: Ping.self) { _ in others.add() },
            publisher.subscribe(to: HandlerFailed.self) { reports.add($0.error) },
        ]
        await #expect(throws: Refused(number: 3)) { try await publisher.deliver(Ping(3), within: .seconds(60)) }
        #expect(others.count == 1)
        #expect(reports.all.isEmpty)
        publisher.publish(Ping(4))
        #expect(await reports.wait(for: 1) == ["refused 4"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func orThrowsAfterItsTimeNamingTheHandlersThatAreNotDone() async throws {
        let clock = HandClock()
        let barrier = Barrier()
        let began = Collected<Int>()
        let line = #line + 1
        let slow = publisher.subscribe(to: Ping.self) { (_: Ping) async in
            began.add(0)
            await barrier.pass()
        }
        let quick = publisher.subscribe(to: Ping.self) { (_: Ping) async in began.add(1) }
        let delivery = Task { [publisher] in try await publisher.deliver(Ping(), within: .seconds(5), clock: clock) }
        await began.wait(for: 2)
        await clock.asleep.wait(for: 1)
        // The quick handler may return a moment after its last line.
        await quick.cancelAndWait()
        for _ in 0..<100 { await Task.yield() }
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: DeliveryError.self) { try await delivery.value }
        #expect(error?.code == .timedOut)
        #expect(error?.description.contains("\(#fileID):\(line)") == true)
        #expect(error?.description.contains("within 5.0 seconds") == true)
        barrier.open()
        slow.cancel()
    }

    @Test func orThrowsWhenItsTaskIsCancelled() async throws {
        let barrier = Barrier()
        let began = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { (_: Ping) async in
            began.add(0)
            await barrier.pass()
        }
        let delivery = Task { [publisher] in try await publisher.deliver(Ping(), within: .seconds(60)) }
        await began.wait(for: 1)
        delivery.cancel()
        await #expect(throws: CancellationError.self) { try await delivery.value }
        barrier.open()
        subscription.cancel()
    }

    @Test func andDoesNotPublishIfItsTaskWasCancelledBefore() async throws {
        let log = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { log.add($0.number) }
        for round in 0..<100 {
            let isCancelled = Barrier()
            let delivery = Task { [publisher] in
                await isCancelled.pass()
                try await publisher.deliver(Ping(round), within: .seconds(60))
            }
            delivery.cancel()
            isCancelled.open()
            await #expect(throws: CancellationError.self) { _ = try await delivery.value }
        }
        #expect(log.all.isEmpty)
        subscription.cancel()
    }

    @Test func whenASubscriberIsCancelledWhileItsEventWaits() async throws {
        let queue = DispatchQueue(label: "handlers")
        queue.suspend()
        let began = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(queue)) { _ in }
        let inline = publisher.subscribe(to: Ping.self) { _ in began.add(0) }
        let delivery = Task { [publisher] in try await publisher.deliver(Ping(), within: .seconds(60)) }
        await began.wait(for: 1)
        subscription.cancel()
        #expect(try await delivery.value.handlers == ["host": 2])
        queue.resume()
        inline.cancel()
    }
}

@Suite("request returns the answer that its own event has caused", .timeLimit(.minutes(5)))
struct RequestTests {
    private let publisher = EventPublisher()

    /// Three steps, each of another kind.
    private func makeWarehouse() -> [Subscription] {
        [
            publisher.subscribe(to: Order.self) { [publisher] in publisher.publish(Picked(number: $0.number)) },
            publisher.subscribe(to: Picked.self, on: .queue(DispatchQueue(label: "packing"))) { [publisher] in
                publisher.publish(Packed(number: $0.number))
            },
            publisher.subscribe(to: Packed.self) { [publisher] (event: Packed) async in
                await Task.yield()
                if event.number < 0 {
                    publisher.publish(OutOfStock(number: event.number))
                } else {
                    publisher.publish(Pong(event.number * 10))
                }
            },
        ]
    }

    @Test func throughSeveralStepsOfEveryKind() async throws {
        let subscriptions = makeWarehouse()
        let answer = try await publisher.request(Order(number: 4), awaiting: Pong.self, within: .seconds(60))
        #expect(answer == Pong(40))
        for subscription in subscriptions { subscription.cancel() }
        #expect(!publisher.isWanted("Pong"))
    }

    @Test func alsoAThousandAtOnceEachItsOwn() async throws {
        let subscriptions = makeWarehouse()
        try await withThrowingTaskGroup(of: (Int, Pong).self) { group in
            for number in 0..<1_000 {
                group.addTask { [publisher] in
                    let order = Order(number: number)
                    return (number, try await publisher.request(order, awaiting: Pong.self, within: .seconds(100)))
                }
            }
            for try await (number, answer) in group { #expect(answer == Pong(number * 10)) }
        }
        for subscription in subscriptions { subscription.cancel() }
        #expect(!publisher.isWanted("Pong"))
    }

    @Test func orThrowsTheEventOfItsFailure() async throws {
        let subscriptions = makeWarehouse()
        let failed = await #expect(throws: RequestFailed<OutOfStock>.self) {
            try await publisher.request(
                Order(number: -1),
                awaiting: Pong.self,
                orThrowing: OutOfStock.self,
                within: .seconds(60)
            )
        }
        #expect(failed?.event == OutOfStock(number: -1))
        let answer = try await publisher.request(
            Order(number: 1),
            awaiting: Pong.self,
            orThrowing: OutOfStock.self,
            within: .seconds(60)
        )
        #expect(answer == Pong(10))
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onlyTheOneThatIsMeant() async throws {
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] event in
            for number in 0..<5 { publisher.publish(Pong(number)) }
        }
        let answer = try await publisher.request(Ping(), awaiting: Pong.self, within: .seconds(60)) { $0.number == 3 }
        #expect(answer == Pong(3))
        subscription.cancel()
    }

    @Test func whichDoesNotCancelTheHandlersThatAreStillToBeCalled() async throws {
        let mayGoOn = DispatchSemaphore(value: 0)
        let cancelled = Collected<Bool>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] in publisher.publish(Pong($0.number)) },
            publisher.subscribe(to: Ping.self) { _ in
                mayGoOn.wait()
                cancelled.add(Task.isCancelled)
            },
        ]
        let answer = try await publisher.request(Ping(1), awaiting: Pong.self, within: .seconds(60))
        #expect(answer == Pong(1))
        mayGoOn.signal()
        await cancelled.wait(for: 1)
        #expect(cancelled.all == [false])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func notOneThatSomethingElseHasCausedNorTheEventItself() async throws {
        let clock = HandClock()
        let began = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { began.add($0.number) }
        let request = Task { [publisher] in
            try await publisher.request(Ping(1), awaiting: Ping.self, within: .seconds(5), clock: clock)
        }
        await began.wait(for: 1)
        publisher.publish(Ping(2))
        await clock.asleep.wait(for: 1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: DeliveryError.self) { try await request.value }
        #expect(error?.code == .timedOut)
        // The other Ping may have been meant as the answer; the request itself is not counted.
        #expect(error?.description.contains("was not answered by Ping within 5.0 seconds; 1 Ping came") == true)
        subscription.cancel()
    }

    @Test("D5: a request that is not answered in time says that an event of the answer's type came without a cause")
    func uncausedAnswer() async throws {
        let (clock, began) = (HandClock(), Collected<Int>())
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] in
            let number = $0.number
            // On a thread that the handler has started, no event is being handled.
            Task.detached {
                publisher.publish(Pong(number))
                began.add(number)
            }
        }
        let request = Task { [publisher] in
            try await publisher.request(
                Ping(1),
                awaiting: Pong.self,
                orThrowing: Order.self,
                within: .seconds(5),
                clock: clock
            )
        }
        await began.wait(for: 1)
        await clock.asleep.wait(for: 1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: DeliveryError.self) { try await request.value }
        let hint = "1 Pong came without a cause: publish an answer inside the handler, or with causedBy:"
        #expect(error?.description.hasSuffix("was not answered by Pong within 5.0 seconds; \(hint)") == true)
        subscription.cancel()
    }

    @Test("D5: what the request's predicate does not take is not counted among the answers without a cause")
    func uncausedEventThatIsNoAnswer() async throws {
        let (clock, began) = (HandClock(), Collected<Int>())
        let subscription = publisher.subscribe(to: Ping.self) { began.add($0.number) }
        let request = Task { [publisher] in
            try await publisher.request(Ping(1), awaiting: Pong.self, within: .seconds(5), clock: clock) {
                $0.number == 1
            }
        }
        await began.wait(for: 1)
        for number in 1...3 { publisher.publish(Pong(number)) }
        await clock.asleep.wait(for: 1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: DeliveryError.self) { try await request.value }
        #expect(error?.description.contains("within 5.0 seconds; 1 Pong came without a cause") == true)
        subscription.cancel()
    }

    @Test("a handler that never returns keeps no publisher once its caller waits no longer")
    func publisherIsLetGo() async throws {
        let queue = DispatchQueue(label: "stands still", attributes: .initiallyInactive)
        weak var witness: EventPublisher?
        let subscription: Subscription
        do {
            let publisher = EventPublisher()
            witness = publisher
            subscription = publisher.subscribe(to: Ping.self, on: .queue(queue)) { _ in }
            await #expect(throws: DeliveryError.self) {
                try await publisher.deliver(Ping(1), within: .milliseconds(1))
            }
        }
        while witness != nil { await Task.yield() }
        queue.activate()
        subscription.cancel()
    }

    @Test func orThrowsWhatAHandlerThrows() async {
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { throw Refused(number: $0.number) },
            publisher.subscribe(to: Pong.self) { (event: Pong) async throws in throw Refused(number: event.number) },
        ]
        await #expect(throws: Refused(number: 1)) {
            try await publisher.request(Ping(1), awaiting: Order.self, within: .seconds(60))
        }
        await #expect(throws: Refused(number: 2)) {
            try await publisher.request(Pong(2), awaiting: Order.self, within: .seconds(60))
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func orThrowsThatNothingSubscribesOrThatItsTaskWasCancelled() async throws {
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.request(Order(number: 1), awaiting: Pong.self, within: .seconds(60))
        }
        #expect(error?.code == .noSubscriber)
        let other = EventPublisher()
        let link = publisher.forward(Order.self, to: other)
        let linked = await #expect(throws: DeliveryError.self) {
            try await publisher.request(Order(number: 1), awaiting: Pong.self, within: .seconds(60))
        }
        #expect(linked?.code == .noSubscriber)
        link.cancel()
        let began = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { began.add($0.number) }
        let request = Task { [publisher] in
            try await publisher.request(Ping(), awaiting: Pong.self, within: .seconds(60))
        }
        await began.wait(for: 1)
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
        #expect(!publisher.isWanted("Pong"))
        subscription.cancel()
    }

    @Test func insideAnAsynchronousHandlerWithARootOfItsOwn() async throws {
        let warehouse = makeWarehouse()
        let contexts = Collected<EventContext?>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] (event: Ping) async throws in
                contexts.add(EventContext.current)
                let inner = try await publisher.request(
                    Order(number: event.number),
                    awaiting: Pong.self,
                    within: .seconds(60)
                )
                // From here on the handled event is the cause again.
                publisher.publish(OutOfStock(number: inner.number + 1))
            },
            publisher.subscribe(to: Picked.self) { _ in contexts.add(EventContext.current) },
        ]
        let answer = try await publisher.request(Ping(7), awaiting: OutOfStock.self, within: .seconds(60))
        #expect(answer == OutOfStock(number: 71))
        let seen = await contexts.wait(for: 2)
        let (outer, step) = (try #require(seen[0]), try #require(seen[1]))
        #expect(outer.root == outer.id)
        #expect(step.root != outer.id)
        #expect(step.cause == step.root)
        for subscription in subscriptions + warehouse { subscription.cancel() }
    }
}
