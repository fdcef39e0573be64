import Dispatch
import TestSupport
import Testing

@testable import DomainEvents

@Suite("A delivery that its subscriber acknowledges", .timeLimit(.minutes(5)))
struct UnsettledDeliveryTests {
    private let publisher = EventPublisher()
    private let held = Collected<UnsettledDelivery<Ping>>()
    private let outcomes = Collected<String>()

    private func subscribe() -> Subscription {
        publisher.subscribe(to: Ping.self, on: .queue(.global()), acknowledging: .manually) { [held] delivery in
            held.add(delivery)
        }
    }

    /// Delivers an event in a task, which writes down the outcome.
    private func deliver(_ number: Int) {
        Task { [publisher, outcomes] in
            do {
                let receipt = try await publisher.deliver(Ping(number), within: .seconds(240))
                outcomes.add("\(number) handled by \(receipt.handlers.values.reduce(0, +))")
            } catch {
                outcomes.add("\(number) failed: \(error)")
            }
        }
    }

    @Test("counts as handled when it is acknowledged, and not when the handler returns; later calls do nothing")
    func acknowledged() async throws {
        let subscription = subscribe()
        deliver(1)
        let first = try #require(await held.wait(for: 1).first)
        // The handler has returned: the queue has gone on to the next event.
        deliver(2)
        let second = try #require(await held.wait(for: 2).last)
        #expect(first.event == Ping(1) && first.context.attempt == 1 && outcomes.all.isEmpty)
        second.acknowledge()
        #expect(await outcomes.wait(for: 1) == ["2 handled by 1"])
        first.acknowledge()
        first.acknowledge()
        first.refuse(Refused(number: 1))
        #expect(await outcomes.wait(for: 2).last == "1 handled by 1")
        subscription.cancel()
    }

    @Test("is not acknowledged for an event that comes when the subscription has just been cancelled")
    func afterCancelling() async throws {
        let subscription = subscribe()
        let subscriber = try #require(publisher.channel(of: Ping.self).currentSubscribers()?.deferred.first)
        subscription.cancel()
        let outcome = Outcome()
        withUnsafePointer(to: Ping(1)) { event in
            [subscriber].post(
                RawEvent(reading: event),
                .full(publisher.makeContext(causedBy: nil)),
                HandlingTracker(handlers: 1, completion: outcome),
                lockMask: subscriber.lockMask,
                .nothing
            )
        }
        #expect(outcome.failures.all.map { "\($0)" }.first?.contains("its subscription was cancelled") == true)
    }

    @Test("gives the caller the error with which it is refused, or that the handler throws")
    func refused() async throws {
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(.global()), acknowledging: .manually) {
            [held] delivery in
            if delivery.event.number == 3 { throw Refused(number: 3) }
            held.add(delivery)
        }
        deliver(1)
        await held.wait(for: 1)
        held.all[0].refuse(Refused(number: 1))
        held.all[0].acknowledge()
        #expect(await outcomes.wait(for: 1) == ["1 failed: refused 1"])
        deliver(3)
        #expect(await outcomes.wait(for: 2).last == "3 failed: refused 3")
        subscription.cancel()
    }

    @Test("counts as refused when it is released without a call")
    func released() async throws {
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(.global()), acknowledging: .manually) { _ in }
        deliver(1)
        #expect(
            await outcomes.wait(for: 1) == [
                "1 failed: the event was not acknowledged: its delivery was released without acknowledge() or refuse(_:)"
            ]
        )
        subscription.cancel()
    }

    @Test("can be settled after the end of its subscription; events that wait for the handler count as refused")
    func cancelled() async throws {
        let queue = DispatchQueue(label: "pings")
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(queue), acknowledging: .manually) {
            [held] delivery in held.add(delivery)
        }
        deliver(1)
        await held.wait(for: 1)
        // The block that has called the handler would take the next event too, as long as it runs.
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        queue.suspend()
        let entered = Collected<Void>()
        // Called when the event lies in the strand.
        let witness = publisher.subscribe(to: Ping.self) { _ in entered.add(()) }
        deliver(2)
        await entered.wait(for: 1)
        subscription.cancel()
        #expect(
            await outcomes.wait(for: 1) == [
                "2 failed: the event was not acknowledged: its subscription was cancelled"
            ]
        )
        queue.resume()
        held.all[0].acknowledge()
        #expect(await outcomes.wait(for: 2).last == "1 handled by 1")
        witness.cancel()
    }

    @Test("is named as unfinished to a caller whose time is over")
    func isNamedWhenLate() async throws {
        let subscription = subscribe()
        var text = ""
        // On a busy machine the time may be over before the event has left.
        while !text.contains("UnsettledDeliveryTests.swift") {
            let error = await #expect(throws: DeliveryError.self) {
                try await publisher.deliver(Ping(1), within: .milliseconds(20))
            }
            #expect(error?.code == .timedOut)
            text = error?.description ?? ""
        }
        subscription.cancel()
    }

    @Test("of a plain publish: a refusal is reported as a handler's error, with the event's name")
    func withoutACaller() async throws {
        let failures = Collected<HandlerFailed>()
        let reports = publisher.subscribe(to: HandlerFailed.self) { failures.add($0) }
        let untyped = Collected<UnsettledDelivery<UntypedEvent>>()
        let subscription = try publisher.subscribe(
            toEventsNamed: "Parcel",
            on: .queue(.global()),
            acknowledging: .manually
        ) { untyped.add($0) }
        try publisher.publish(UntypedEvent(name: "Parcel", payload: [1]))
        try publisher.publish(UntypedEvent(name: "Parcel", payload: [2]))
        await untyped.wait(for: 2)
        #expect(untyped.all.map(\.event.payload) == [[1], [2]])
        untyped.all[0].acknowledge()
        untyped.all[1].refuse(Refused(number: 2))
        let failure = try #require(await failures.wait(for: 1).first)
        #expect(failure.event == "Parcel" && failure.error == "refused 2" && failures.count == 1)
        #expect(failure.id == untyped.all[1].context.id.description)
        subscription.cancel()
        reports.cancel()
    }

    @Test("takes up room until it is settled: send waits while 4096 are in hand")
    func takesUpRoom() async throws {
        let subscription = subscribe()
        for number in 0..<4_096 { publisher.publish(Ping(number)) }
        await held.wait(for: 4_096)
        let sent = Collected<Void>()
        // Runs here until it waits: a sender that finds room has sent when this returns.
        let task = Task.immediate { [publisher] in
            try await publisher.send(Ping(4_096))
            sent.add(())
        }
        #expect(sent.count == 0)
        for delivery in held.all { delivery.acknowledge() }
        await sent.wait(for: 1)
        try await task.value
        for delivery in held.all { delivery.acknowledge() }
        subscription.cancel()
    }
}

/// Writes down with which failure the handling of an event has ended.
private final class Outcome: HandlingCompletion {
    let failures = Collected<String>()

    func handlersReturned(failure: ThrownError?) { failures.add(failure.map { "\($0)" } ?? "handled") }
}
