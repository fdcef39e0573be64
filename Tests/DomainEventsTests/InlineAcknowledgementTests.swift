import Dispatch
import Foundation
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

    @Test("gets what other threads publish meanwhile on the thread that is in it; after a burst a free thread goes on")
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
        #expect((256..<300).contains(threads.all.count { $0 == threads.all[0] }))
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
