import Dispatch
import DomainEvents
import TestSupport
import Testing

@Suite("A transaction holds what is published until it ends", .timeLimit(.minutes(5)))
struct TransactionTests {
    private let publisher = EventPublisher()
    private let log = Collected<Int>()
    private let subscriptions: [Subscription]

    init() {
        subscriptions = [
            publisher.subscribe(to: Ping.self) { [log] in log.add($0.number) },
            publisher.subscribe(to: Pong.self) { [log] in log.add($0.number) },
        ]
    }

    @Test func andKeepsTheOrderAcrossTypes() {
        let result = publisher.transaction {
            for number in 0..<100 {
                if number % 3 == 0 { publisher.publish(Ping(number)) } else { publisher.publish(Pong(number)) }
            }
            #expect(log.all.isEmpty)
            return "saved"
        }
        #expect(result == "saved")
        #expect(log.all == Array(0..<100))
        publisher.publish(Ping(100))
        #expect(log.all == Array(0...100))
    }

    @Test func alsoAnAsynchronousOneOverItsSuspensions() async throws {
        try await publisher.transaction {
            for number in 0..<100 {
                publisher.publish(Ping(number))
                await Task.yield()
            }
            #expect(log.all.isEmpty)
        }
        #expect(log.all == Array(0..<100))
    }

    @Test func orDropsItIfTheBodyThrows() async {
        #expect(throws: Refused(number: 1)) {
            try publisher.transaction {
                publisher.publish(Ping(1))
                throw Refused(number: 1)
            }
        }
        await #expect(throws: Refused(number: 2)) {
            try await publisher.transaction {
                publisher.publish(Ping(2))
                await Task.yield()
                throw Refused(number: 2)
            }
        }
        #expect(log.all.isEmpty)
        publisher.publish(Ping(3))
        #expect(log.all == [3])
    }

    @Test func orDropsItIfTheTaskWasCancelled() async {
        let task = Task { [publisher] in
            try await publisher.transaction {
                publisher.publish(Ping(1))
                await Task.yield()
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(log.all.isEmpty)
    }

    @Test func anInnerOneJoinsTheOuterOne() {
        publisher.transaction {
            publisher.publish(Ping(1))
            publisher.transaction { publisher.publish(Ping(2)) }
            #expect(log.all.isEmpty)
            try? publisher.transaction {
                publisher.publish(Ping(3))
                throw Refused(number: 3)
            }
            publisher.publish(Ping(4))
        }
        #expect(log.all == [1, 2, 3, 4])
        try? publisher.transaction {
            publisher.transaction { publisher.publish(Ping(5)) }
            throw Refused(number: 5)
        }
        #expect(log.count == 4)
    }

    @Test func anotherPublisherIsNotHeld() {
        let other = EventPublisher()
        let there = Collected<Int>()
        let subscription = other.subscribe(to: Ping.self) { there.add($0.number) }
        publisher.transaction {
            other.publish(Ping(1))
            #expect(there.all == [1])
            other.transaction {
                publisher.publish(Ping(2))
                other.publish(Ping(3))
                #expect(there.count == 1)
            }
            #expect(there.all == [1, 3])
            #expect(log.all.isEmpty)
        }
        #expect(log.all == [2])
        subscription.cancel()
    }

    @Test func otherTasksAndThreadsAreNotHeld() async throws {
        try await publisher.transaction {
            publisher.publish(Ping(1))
            await onThreads(1) { [publisher] _ in publisher.publish(Ping(2)) }
            await Task.detached { [publisher] in publisher.publish(Ping(3)) }.value
            #expect(log.all == [2, 3])
        }
        #expect(log.all == [2, 3, 1])
    }

    @Test func childTasksAreHeldAndOneThatOutlivesItPublishesDirectly() async throws {
        let hasEnded = Barrier()
        let (child, outliving) = try await publisher.transaction {
            async let held: Void = { [publisher] in publisher.publish(Ping(1)) }()
            await held
            let outliving = Task { [publisher] in
                await hasEnded.pass()
                publisher.publish(Ping(3))
            }
            publisher.publish(Ping(2))
            return (log.count, outliving)
        }
        #expect(child == 0)
        #expect(log.all == [1, 2])
        hasEnded.open()
        await outliving.value
        #expect(log.all == [1, 2, 3])
    }

    @Test func aTaskThatOutlivesItKeepsItsOrder() async throws {
        for round in 0..<rounds(300) {
            let publisher = EventPublisher()
            let log = Collected<Int>()
            let total = 200
            let subscription = publisher.subscribe(to: Ping.self) { log.add($0.number) }
            let task = publisher.transaction {
                let task = Task { [publisher] in
                    for number in 0..<total {
                        publisher.publish(Ping(number))
                        if number == round % 60 { await Task.yield() }
                    }
                }
                for _ in 0..<(round % 50) { yieldNow() }
                return task
            }
            await task.value
            while log.count < total { await Task.yield() }
            #expect(log.all == Array(0..<total))
            subscription.cancel()
        }
    }

    @Test("an inner one that outlives the outer one still drops its events if its body throws")
    func innerThatOutlivesAndThrows() async throws {
        let (innerRuns, outerEnded) = (Barrier(), Barrier())
        let inner = try await publisher.transaction {
            let inner = Task { [publisher] in
                try await publisher.transaction {
                    innerRuns.open()
                    await outerEnded.pass()
                    publisher.publish(Ping(1))
                    throw Refused(number: 1)
                }
            }
            await innerRuns.pass()
            return inner
        }
        outerEnded.open()
        await #expect(throws: Refused(number: 1)) { try await inner.value }
        #expect(log.all.isEmpty)
        publisher.publish(Ping(2))
        #expect(log.all == [2])
    }

    @Test("an inner one that outlives the outer one holds what it publishes then until its own end")
    func innerThatOutlives() async throws {
        let (innerRuns, outerEnded) = (Barrier(), Barrier())
        let inner = try await publisher.transaction {
            publisher.publish(Ping(1))
            let inner = Task { [publisher, log] in
                try await publisher.transaction {
                    publisher.publish(Ping(2))
                    innerRuns.open()
                    await outerEnded.pass()
                    publisher.publish(Ping(3))
                    // An innermost one joins the inner one, which is still open.
                    publisher.transaction { publisher.publish(Pong(4)) }
                    #expect(log.all == [1, 2])
                }
            }
            await innerRuns.pass()
            return inner
        }
        #expect(log.all == [1, 2])
        outerEnded.open()
        try await inner.value
        #expect(log.all == [1, 2, 3, 4])
    }

    @Test("a task that begins another one while its events wait for the first one's end keeps its order")
    func anotherOneWhileTheFirstEnds() async {
        let (mayGo, hasGone) = (Barrier(), Flag())
        let blocking = publisher.subscribe(to: Ping.self) {
            guard $0.number == -1 else { return }
            mayGo.open()
            waitUntil { hasGone.isSet }
        }
        await onThreads(1) { [publisher] _ in
            publisher.transaction {
                publisher.publish(Ping(-1))
                Task {
                    await mayGo.pass()
                    publisher.publish(Ping(0))
                    try? publisher.transaction {
                        publisher.publish(Ping(99))
                        throw Refused(number: 99)
                    }
                    publisher.transaction {
                        publisher.publish(Ping(1))
                        publisher.publish(Ping(2))
                    }
                    publisher.publish(Ping(3))
                    hasGone.set()
                }
            }
        }
        #expect(await log.wait(for: 5) == [-1, 0, 1, 2, 3])
        blocking.cancel()
    }

    @Test("a task that outlives it keeps its order, however many events it publishes before the first has been handled")
    func manyLateEvents() async {
        let (mayGo, hasPublished) = (Barrier(), Flag())
        let total = 1_100
        let blocking = publisher.subscribe(to: Ping.self) {
            guard $0.number == -1 else { return }
            mayGo.open()
            waitUntil { hasPublished.isSet }
        }
        await onThreads(1) { [publisher] _ in
            publisher.transaction {
                publisher.publish(Ping(-1))
                Task {
                    await mayGo.pass()
                    for number in 0..<total { publisher.publish(Ping(number)) }
                    hasPublished.set()
                }
            }
        }
        #expect(await log.wait(for: total + 1) == Array(-1..<total))
        blocking.cancel()
    }

    @Test("it returns though a task that outlives it publishes on and on, and the task's events keep their order")
    func endlessLateEvents() async {
        let (published, hasReturned, hasStopped) = (Counter(), Flag(), Collected<Int>())
        // While the caller publishes what was held, there is always one more event.
        let blocking = publisher.subscribe(to: Ping.self) { event in
            waitUntil { published.count > event.number + 1 || hasReturned.isSet }
        }
        await onThreads(1) { [publisher, log] _ in
            publisher.transaction {
                publisher.publish(Ping(-1))
                Task {
                    while !hasReturned.isSet {
                        if published.count > log.count + 100 {
                            await Task.yield()
                        } else {
                            publisher.publish(Ping(published.count))
                            published.add()
                        }
                    }
                    hasStopped.add(published.count)
                }
            }
            hasReturned.set()
        }
        let total = await hasStopped.wait(for: 1)[0]
        #expect(await log.wait(for: total + 1) == Array(-1..<total))
        blocking.cancel()
    }

    @Test func sendIsHeldAndDoesNotWaitAndReturnsTheIdentity() async throws {
        var iterator = publisher.deliveries(of: Ping.self, buffering: .waiting(1)).makeAsyncIterator()
        let ids = try await publisher.transaction {
            var ids: [EventID] = []
            for number in 0..<5 { ids.append(try await publisher.send(Ping(number))) }
            return ids
        }
        for id in ids { #expect(try await iterator.next()?.context.id == id) }
    }

    @Test func deliverAndRequestAreRefusedInside() async throws {
        try await publisher.transaction {
            let delivering = await #expect(throws: DeliveryError.self) {
                try await publisher.deliver(Ping(), within: .seconds(60))
            }
            #expect(delivering?.code == .insideTransaction)
            let requesting = await #expect(throws: DeliveryError.self) {
                try await publisher.request(Ping(), awaiting: Pong.self, within: .seconds(60))
            }
            #expect(requesting?.code == .insideTransaction)
        }
        #expect(log.all.isEmpty)
    }

    @Test func identitiesAndCausesAreThoseOfTheMomentOfPublishing() throws {
        let contexts = Collected<EventContext?>()
        let outer = Collected<EventContext?>()
        let more = [
            publisher.subscribe(to: Pong.self) { _ in contexts.add(EventContext.current) },
            publisher.subscribe(to: Ping.self) { [publisher] _ in
                outer.add(EventContext.current)
                publisher.transaction { publisher.publish(Pong(1)) }
                // Outside the handler nothing would cause it.
                publisher.transaction { publisher.publish(Pong(2)) }
            },
        ]
        publisher.publish(Ping())
        let ping = try #require(outer.all[0])
        let pongs = try contexts.all.map { try #require($0) }
        #expect(pongs.map(\.cause) == [ping.id, ping.id])
        #expect(pongs[0].id.number < pongs[1].id.number)
        publisher.transaction {
            publisher.publish(Pong(3), causedBy: ping)
        }
        #expect(contexts.all.last??.cause == ping.id)
        for subscription in more { subscription.cancel() }
    }

    @Test func whatHandlersPublishAtItsEndIsNotHeld() {
        let inner = publisher.subscribe(to: Ping.self) { [publisher] in publisher.publish(Pong($0.number + 100)) }
        publisher.transaction {
            publisher.publish(Ping(1))
            publisher.publish(Ping(2))
        }
        #expect(log.all == [1, 101, 2, 102])
        inner.cancel()
    }
}
