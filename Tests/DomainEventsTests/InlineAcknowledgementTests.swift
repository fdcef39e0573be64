import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DomainEvents

@Suite("A handler on the publishing thread that acknowledges by its own call", .timeLimit(.minutes(5)))
struct InlineAcknowledgementTests {
    private let publisher = EventPublisher()
    private let held = Collected<UnsettledDelivery<Ping>>()

    @Test("has run when publish returns, on the same thread; send and deliver wait for its acknowledgement")
    func onThePublishingThread() async throws {
        let threads = Collected<ObjectIdentifier>()
        let subscription = publisher.subscribe(to: Ping.self, acknowledging: .manually) { [held] delivery in
            threads.add(ObjectIdentifier(DeliveryThread.current))
            held.add(delivery)
        }
        func publish() -> ObjectIdentifier {
            publisher.publish(Ping(1))
            return ObjectIdentifier(DeliveryThread.current)
        }
        let own = publish()
        #expect(threads.all == [own])
        #expect(held.all.map(\.event) == [Ping(1)])
        let outcomes = Collected<String>()
        let task = Task { [publisher] in
            let receipt = try await publisher.deliver(Ping(2), within: .seconds(240))
            outcomes.add("handled by \(receipt.handlers.values.reduce(0, +))")
        }
        let second = try #require(await held.wait(for: 2).last)
        #expect(second.event == Ping(2) && outcomes.all.isEmpty)
        second.acknowledge()
        #expect(await outcomes.wait(for: 1) == ["handled by 1"])
        try await task.value
        held.all[0].acknowledge()
        subscription.cancel()
        publisher.publish(Ping(3))
        #expect(held.count == 2)
    }

    @Test("gets what other threads publish meanwhile on a free thread, after the thread that is in it")
    func oneThreadAtATime() async throws {
        let (isIn, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let mayEnd = DispatchSemaphore(value: 0)
        let numbers = Collected<Int>()
        let threads = Collected<ObjectIdentifier>()
        let subscription = publisher.subscribe(to: Ping.self, acknowledging: .manually) { delivery in
            threads.add(ObjectIdentifier(DeliveryThread.current))
            if delivery.event.number == 1 {
                isIn.signal()
                mayGoOn.wait()
            }
            numbers.add(delivery.event.number)
            delivery.acknowledge()
        }
        let first = Collected<Void>()
        Thread.detachNewThread { [publisher] in
            publisher.publish(Ping(1))
            first.add(())
            // Otherwise the next thread's object could have the same identity.
            mayEnd.wait()
        }
        await onAnyThread { isIn.wait() }
        // The other thread is in the handler, so these calls return before the handler has the events.
        for number in 2...300 { publisher.publish(Ping(number)) }
        #expect(numbers.all.isEmpty && first.count == 0)
        mayGoOn.signal()
        await first.wait(for: 1)
        #expect(await numbers.wait(for: 300) == Array(1...300))
        #expect(threads.all.count { $0 == threads.all[0] } == 1)
        mayEnd.signal()
        subscription.cancel()
    }

    @Test("does not begin again for an event that it publishes itself before it has returned")
    func notWithinItself() {
        let log = Collected<String>()
        let subscription = publisher.subscribe(to: Ping.self, acknowledging: .manually) { [publisher] delivery in
            log.add("begin \(delivery.event.number)")
            if delivery.event.number < 3 { publisher.publish(Ping(delivery.event.number + 1)) }
            log.add("end \(delivery.event.number) \(EventContext.current?.cause == nil ? "first" : "caused")")
            delivery.acknowledge()
        }
        publisher.publish(Ping(1))
        #expect(log.all == ["begin 1", "end 1 first", "begin 2", "end 2 caused", "begin 3", "end 3 caused"])
        #expect(EventContext.current == nil)
        subscription.cancel()
    }

    @Test("keeps the order of events of different names, with a type and without, and a publisher's other handlers")
    func manyNames() throws {
        let log = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { log.add("plain \($0.number)") },
            publisher.subscribe(to: Ping.self, acknowledging: .manually) {
                log.add("ping \($0.event.number)")
                $0.acknowledge()
            },
            try publisher.subscribe(toEventsNamed: "Parcel", acknowledging: .manually) {
                log.add("parcel \($0.event.payload)")
                $0.acknowledge()
            },
        ]
        publisher.publish(Ping(1))
        try publisher.publish(UntypedEvent(name: "Parcel", payload: [2]))
        publisher.publish(Ping(3))
        #expect(log.all == ["plain 1", "ping 1", "parcel [2]", "plain 3", "ping 3"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("is called on the queue of a publisher that delivers on one")
    func onThePublishersQueue() async throws {
        let queue = DispatchQueue(label: "pings")
        let mark = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: mark, value: true)
        let publisher = EventPublisher(deliveringOn: .queue(queue))
        let places = Collected<Bool>()
        let subscription = publisher.subscribe(to: Ping.self, acknowledging: .manually) { delivery in
            places.add(DispatchQueue.getSpecific(key: mark) == true)
            delivery.acknowledge()
        }
        publisher.publish(Ping(1))
        #expect(await places.wait(for: 1) == [true])
        subscription.cancel()
    }

    @Test("leaves events that wait for it refused when its subscription is cancelled, and settles those that it has")
    func cancelled() async throws {
        let (isIn, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let subscription = publisher.subscribe(to: Ping.self, acknowledging: .manually) { [held] delivery in
            held.add(delivery)
            isIn.signal()
            mayGoOn.wait()
        }
        let failures = Collected<String>()
        let failing = publisher.subscribe(to: HandlerFailed.self) { failures.add("\($0.event): \($0.error)") }
        let outcomes = Collected<String>()
        Task { [publisher] in
            do {
                _ = try await publisher.deliver(Ping(1), within: .seconds(240))
                outcomes.add("handled")
            } catch {
                outcomes.add("failed: \(error)")
            }
        }
        await onAnyThread { isIn.wait() }
        publisher.publish(Ping(2))
        #expect(failures.all.isEmpty)
        subscription.cancel()
        #expect(failures.all == ["\(Ping.self): the event was not acknowledged: its subscription was cancelled"])
        mayGoOn.signal()
        held.all[0].acknowledge()
        #expect(await outcomes.wait(for: 1) == ["handled"])
        #expect(held.count == 1)
        failing.cancel()
    }

    @Test("is not waited for while the strand handles an event of another subscription")
    func othersAreNotAwaited() async throws {
        let (isIn, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let first = publisher.subscribe(to: Ping.self, acknowledging: .manually) { $0.acknowledge() }
        let second = publisher.subscribe(to: Ping.self, acknowledging: .manually) { delivery in
            isIn.signal()
            mayGoOn.wait()
            delivery.acknowledge()
        }
        let published = Collected<Void>()
        Thread.detachNewThread { [publisher] in
            publisher.publish(Ping(1))
            published.add(())
        }
        await onAnyThread { isIn.wait() }
        // The thread that is in the second handler was brought there by the first subscription's call.
        await first.cancelAndWait()
        #expect(published.count == 0)
        mayGoOn.signal()
        await published.wait(for: 1)
        second.cancel()
    }

    @Test("of an event from another process: the event is pending until it is acknowledged")
    func incoming() async throws {
        let subscription = publisher.subscribe(to: Ping.self, acknowledging: .manually) { [held] in held.add($0) }
        let handled = Collected<Void>()
        let outcome = publisher.channel(of: Ping.self)
            .deliverIncoming(
                payload: nil,
                { Ping(1) },
                context: publisher.makeContext(causedBy: nil),
                from: publisher,
                passOn: { _ in true },
                completion: { handlers in
                    #expect(handlers == 1)
                    return Completion(handled)
                }
            )
        guard case .pending = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(held.count == 1 && handled.count == 0)
        held.all[0].acknowledge()
        #expect(handled.count == 1)
        subscription.cancel()
    }

    @Test("of events that are kept behind a slow handler: each call handles its own event, and no other")
    func behindSlowHandlers() async throws {
        let (isIn, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let log = Collected<String>()
        let subscriptions = ["a", "b"]
            .map { name in
                publisher.subscribe(to: Ping.self, acknowledging: .manually) { delivery in
                    if delivery.event.number == 1, name == "a" {
                        isIn.signal()
                        mayGoOn.wait()
                    }
                    log.add("\(name)\(delivery.event.number)")
                    delivery.acknowledge()
                }
            }
        let handled = Collected<Void>()
        let strand = SlowStrand()
        @Sendable func deliver(_ number: Int) {
            let outcome = publisher.channel(of: Ping.self)
                .deliverIncoming(
                    payload: nil,
                    { Ping(number) },
                    context: publisher.makeContext(causedBy: nil),
                    from: publisher,
                    strand: strand,
                    passOn: { _ in true },
                    completion: { _ in Completion(handled) }
                )
            guard case .pending = outcome else {
                Issue.record("\(outcome)")
                return
            }
        }
        let first = Collected<Void>()
        Thread.detachNewThread {
            deliver(1)
            first.add(())
        }
        await onAnyThread { isIn.wait() }
        deliver(2)
        deliver(3)
        mayGoOn.signal()
        await first.wait(for: 1)
        #expect(log.all == ["a1", "b1"])
        #expect(handled.count == 1)
        strand.kept.all[0]()
        #expect(log.all == ["a1", "b1", "a2", "b2"])
        #expect(handled.count == 2)
        strand.kept.all[1]()
        #expect(log.all == ["a1", "b1", "a2", "b2", "a3", "b3"])
        #expect(handled.count == 3)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("gets an event whose thread is still in another handler on a free thread, when a later event comes")
    func behindAnotherHandler() async throws {
        let (isIn, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let mayEnd = DispatchSemaphore(value: 0)
        let threads = Collected<ObjectIdentifier>()
        let numbers = Collected<Int>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { ping in
                threads.add(ObjectIdentifier(DeliveryThread.current))
                guard ping.number == 1 else { return }
                isIn.signal()
                mayGoOn.wait()
            },
            publisher.subscribe(to: Ping.self, acknowledging: .manually) { delivery in
                threads.add(ObjectIdentifier(DeliveryThread.current))
                numbers.add(delivery.event.number)
                delivery.acknowledge()
            },
        ]
        let published = Collected<Void>()
        for number in 1...2 {
            Thread.detachNewThread { [publisher] in
                publisher.publish(Ping(number))
                published.add(())
                mayEnd.wait()
            }
            if number == 1 { await onAnyThread { isIn.wait() } }
        }
        // The first event's thread has not come to the handler, and neither event waits for that.
        #expect(await numbers.wait(for: 2) == [1, 2])
        mayGoOn.signal()
        await published.wait(for: 2)
        let own = threads.all.prefix(2)
        #expect(!own.contains(threads.all[2]) && !own.contains(threads.all[3]))
        for _ in 1...2 { mayEnd.signal() }
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("loses no event and begins none early while many threads publish, and one of two subscriptions ends")
    func manyThreads() async throws {
        let (threads, each) = (4, 500)
        let numbers = Collected<Int>()
        let isBusy = Atomic<Bool>(false)
        let overlaps = Collected<Void>()
        let ended = publisher.subscribe(to: Ping.self, acknowledging: .manually) { $0.acknowledge() }
        let subscription = publisher.subscribe(to: Ping.self, acknowledging: .manually) { delivery in
            if isBusy.exchange(true, ordering: .acquiringAndReleasing) { overlaps.add(()) }
            numbers.add(delivery.event.number)
            isBusy.store(false, ordering: .releasing)
            delivery.acknowledge()
        }
        for thread in 0..<threads {
            Thread.detachNewThread { [publisher] in
                for number in 0..<each {
                    publisher.publish(Ping(thread * each + number))
                    if thread == 0, number == each / 2 { ended.cancel() }
                }
            }
        }
        let all = await numbers.wait(for: threads * each)
        #expect(all.sorted() == Array(0..<threads * each))
        for thread in 0..<threads {
            let own = all.filter { $0 / each == thread }
            #expect(own == own.sorted())
        }
        #expect(overlaps.count == 0)
        subscription.cancel()
    }

    @Test("is not there before its subscription is: deliver finds no subscriber in the caller alone")
    func callerAlone() async throws {
        let channel = publisher.channel(of: Ping.self)
        let subscription = publisher.subscribe(to: Ping.self, acknowledging: .manually) { $0.acknowledge() }
        let caller = try #require(channel.currentSubscribers()?.inline.first)
        subscription.cancel()
        // As between the two steps of subscribing.
        withExtendedLifetime(channel.put(inline: caller)) {}
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(Ping(1), within: .seconds(240))
        }
        #expect(error?.code == .noSubscriber)
    }
}

/// Waits on a thread that may be blocked.
private func onAnyThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            body()
            continuation.resume()
        }
    }
}

private final class Completion: HandlingCompletion {
    private let handled: Collected<Void>

    init(_ handled: Collected<Void>) { self.handled = handled }

    func handlersReturned(failure: ThrownError?) { handled.add(()) }
}

/// A link's strand in which the first event's handlers are slow: it keeps all later events until a test runs them.
private final class SlowStrand: InlineStrand {
    let kept = Collected<@Sendable () -> Void>()
    private let isEntered = Atomic<Bool>(false)

    func touch() {}

    func enter() -> Bool { !isEntered.exchange(true, ordering: .acquiringAndReleasing) }

    func leave() {}

    func append(_ work: @escaping @Sendable () -> Void) { kept.add(work) }
}
