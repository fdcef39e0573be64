import Dispatch
import DomainEvents
import TestSupport
import Testing

/// Writes down each time it is called.
private final class Completion: HandlingCompletion {
    let log = Collected<Refused?>()
    func handlersReturned(failure: ThrownError?) { log.add(failure?.error as? Refused) }
}

extension IncomingOutcome {
    fileprivate var text: String {
        switch self {
        case .handled: "handled"
        case .unwanted: "unwanted"
        case .failed(let thrown): "failed: \(thrown.error)"
        case .pending: "pending"
        }
    }
}

@Suite("An event from another process is accounted for", .timeLimit(.minutes(5)))
struct IncomingTests {
    private let publisher = EventPublisher()
    private let completion = Completion()
    private let context = EventContext(
        id: EventID(origin: "worker", incarnation: 5, number: 9),
        nanosecondsSinceEpoch: 1,
        attempt: 2
    )

    private func deliver(_ number: Int = 0) -> String {
        publisher.channel(of: Ping.self)
            .deliverIncoming(
                payload: nil,
                { Ping(number) },
                context: context,
                from: publisher,
                passOn: { _ in true },
                completion: { _ in completion }
            )
            .text
    }

    @Test func asUnwantedWithoutSubscribers() {
        #expect(deliver() == "unwanted")
        publisher.subscribe(to: Ping.self) { _ in }.cancel()
        #expect(deliver() == "unwanted")
        #expect(completion.log.count == 0)
    }

    @Test func asHandledWhenInlineHandlersHaveReturnedAndWhatTheyPublishedWasDelivered() {
        let log = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] _ in
                log.add("\(EventContext.current?.id.description ?? "none") \(EventContext.current?.attempt ?? 0)")
                publisher.publish(Pong())
            },
            publisher.subscribe(to: Pong.self) { _ in log.add(EventContext.current?.cause?.description ?? "none") },
        ]
        #expect(deliver() == "handled")
        #expect(log.all == ["worker-5-9 2", "worker-5-9"])
        #expect(completion.log.count == 0)
        #expect(EventContext.current == nil)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func atTheSubscriptionsOfItsMoment() {
        let log = Collected<String>()
        let first = publisher.subscribe(to: Ping.self) { log.add("first \($0.number)") }
        for number in 1...2 { #expect(deliver(number) == "handled") }
        let second = publisher.subscribe(to: Ping.self) { log.add("second \($0.number)") }
        #expect(deliver(3) == "handled")
        first.cancel()
        #expect(deliver(4) == "handled")
        second.cancel()
        #expect(deliver(5) == "unwanted")
        #expect(log.all == ["first 1", "first 2", "first 3", "second 3", "second 4"])
    }

    @Test func byNoRemovedHandlerOfWhichNothingIsLeft() {
        final class Captured: Sendable {}
        weak var captured: Captured?
        do {
            let object = Captured()
            captured = object
            let subscription = publisher.subscribe(to: Ping.self) { _ in withExtendedLifetime(object) {} }
            #expect(deliver(1) == "handled")
            subscription.cancel()
        }
        #expect(deliver(2) == "unwanted")
        #expect(captured == nil)
    }

    @Test(arguments: [false, true])
    func withItsOwnContextThoughAnotherEventComesWithinItsHandler(asksBefore: Bool) {
        let log = Collected<String>()
        let other = EventContext(id: EventID(origin: "other", incarnation: 6, number: 1), nanosecondsSinceEpoch: 1)
        let note: @Sendable () -> Void = { log.add(EventContext.current?.id.description ?? "none") }
        let subscriptions = [
            publisher.subscribe(to: Pong.self) { _ in note() },
            publisher.subscribe(to: Ping.self) { [publisher, completion] _ in
                if asksBefore { note() }
                _ = publisher.channel(of: Pong.self)
                    .deliverIncoming(
                        payload: nil,
                        { Pong() },
                        context: other,
                        from: publisher,
                        passOn: { _ in true },
                        completion: { _ in completion }
                    )
                note()
            },
        ]
        #expect(deliver() == "handled")
        #expect(log.all == (asksBefore ? ["worker-5-9"] : []) + ["other-6-1", "worker-5-9"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func asFailedWithTheFirstErrorAndWithoutAReportHere() {
        let reports = Collected<String>()
        let others = Collected<Int>()
        let subscriptions = [
            publisher.subscribe(to: HandlerFailed.self) { reports.add($0.error) },
            publisher.subscribe(to: Ping.self) { _ in throw Refused(number: 1) },
            publisher.subscribe(to: Ping.self) { _ in throw Refused(number: 2) },
            publisher.subscribe(to: Ping.self) { others.add($0.number) },
        ]
        #expect(deliver(7) == "failed: refused 1")
        #expect(others.all == [7])
        #expect(reports.all.isEmpty)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func asPendingUntilQueuesAndTasksHaveReturnedToo() async {
        let barrier = Barrier()
        let queue = DispatchQueue(label: "handlers")
        queue.suspend()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { _ in },
            publisher.subscribe(to: Ping.self, on: .queue(queue)) { _ in },
            publisher.subscribe(to: Ping.self) { _ in
                await barrier.pass()
                throw Refused(number: 3)
            },
        ]
        #expect(deliver() == "pending")
        #expect(completion.log.count == 0)
        queue.resume()
        queue.sync {}
        #expect(completion.log.count == 0)
        barrier.open()
        #expect(await completion.log.wait(for: 1) == [Refused(number: 3)])
        for subscription in subscriptions { await subscription.cancelAndWait() }
        #expect(completion.log.count == 1)
    }

    @Test func onceAlsoWhenTheSubscriberIsCancelledWhileTheEventWaits() async {
        let queue = DispatchQueue(label: "handlers")
        queue.suspend()
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(queue)) { _ in }
        for _ in 0..<3 { #expect(deliver() == "pending") }
        subscription.cancel()
        #expect(completion.log.all == [nil, nil, nil])
        queue.resume()
        queue.sync {}
        #expect(completion.log.count == 3)
    }

    @Test func onceWhateverTheMomentOfTheCancellation() async {
        let rounds = 2_000
        let queue = DispatchQueue(label: "handlers")
        for round in 0..<rounds {
            let subscriptions = [
                publisher.subscribe(to: Ping.self, on: .queue(queue)) { _ in },
                publisher.subscribe(to: Ping.self) { _ in await Task.yield() },
            ]
            #expect(deliver() == "pending")
            for _ in 0..<(round % 5) { await Task.yield() }
            for subscription in subscriptions { await subscription.cancelAndWait() }
        }
        queue.sync {}
        await completion.log.wait(for: rounds)
        #expect(completion.log.count == rounds)
    }

    @Test func asHandledByASequenceWhenItsConsumerAsksForTheNext() async throws {
        var iterator = publisher.events(of: Ping.self).makeAsyncIterator()
        #expect(deliver(1) == "pending")
        #expect(deliver(2) == "pending")
        #expect(try await iterator.next() == Ping(1))
        #expect(completion.log.count == 0)
        #expect(try await iterator.next() == Ping(2))
        #expect(completion.log.count == 1)
        let last = Task { [iterator] in
            var iterator = iterator
            return try await iterator.next()
        }
        #expect(await completion.log.wait(for: 2) == [nil, nil])
        last.cancel()
        #expect(try await last.value == nil)
    }

    @Test func atOnceByASequenceThatNothingIteratesAndByOneThatIsReleased() async throws {
        do {
            let sequence = publisher.events(of: Ping.self)
            #expect(deliver(1) == "pending")
            #expect(completion.log.count == 1)
            var iterator = sequence.makeAsyncIterator()
            #expect(deliver(2) == "pending")
            #expect(try await iterator.next() == Ping(1))
            #expect(completion.log.count == 1)
        }
        #expect(completion.log.count == 2)
    }
}
