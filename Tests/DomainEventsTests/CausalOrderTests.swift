import Dispatch
import DomainEvents
import TestSupport
import Testing

private struct Cause: DomainEvent { let number: Int }
private struct Effect: DomainEvent { let number: Int }

/// Counts effects that arrived before their causes, at a place where both arrive.
private final class Witness: Sendable {
    let violations = Counter()
    let effects = Collected<Int>()
    private let latest = Counter()

    func see(cause number: Int) {
        if latest.count < number { latest.add(number - latest.count) }
    }

    func see(effect number: Int) {
        if latest.count < number { violations.add() }
        effects.add(number)
    }
}

@Suite("No subscriber sees an effect before its cause", .serialized, .timeLimit(.minutes(5)))
struct CausalOrderTests {
    private let rounds = TestSupport.rounds(4_000)

    /// Publishes causes one at a time, each as soon as the witness has seen the effect of the last one: the cause and
    /// the effect race to the witness.
    private func race(_ publisher: EventPublisher, _ witness: Witness) async {
        for number in 1...rounds {
            publisher.publish(Cause(number: number))
            if number.isMultiple(of: 8) { await witness.effects.wait(for: number) }
        }
        await witness.effects.wait(for: rounds)
        #expect(witness.violations.count == 0)
    }

    /// The subscriptions of the witness come first, so a delivery that goes from one subscriber to the next would be
    /// late there.
    @Test(arguments: [false, true])
    func onOneQueueWhenAHandlerOnAnotherPublishesIt(witnessIsFirst: Bool) async {
        let publisher = EventPublisher()
        let witness = Witness()
        let (left, right) = (DispatchQueue(label: "left"), DispatchQueue(label: "right"))
        func watch() -> [Subscription] {
            [
                publisher.subscribe(to: Cause.self, on: .queue(right)) { witness.see(cause: $0.number) },
                publisher.subscribe(to: Effect.self, on: .queue(right)) { witness.see(effect: $0.number) },
            ]
        }
        func react() -> [Subscription] {
            [
                publisher.subscribe(to: Cause.self, on: .queue(left)) { [publisher] in
                    publisher.publish(Effect(number: $0.number))
                }
            ]
        }
        let subscriptions = witnessIsFirst ? watch() + react() : react() + watch()
        await race(publisher, witness)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onAQueueWhenATaskOrAnInlineHandlerPublishesIt() async {
        for kind in 0..<2 {
            let publisher = EventPublisher()
            let witness = Witness()
            let queue = DispatchQueue(label: "right")
            let reaction =
                kind == 0
                ? publisher.subscribe(to: Cause.self) { [publisher] event in
                    publisher.publish(Effect(number: event.number))
                }
                : publisher.subscribe(to: Cause.self) { [publisher] (event: Cause) async in
                    publisher.publish(Effect(number: event.number))
                }
            let subscriptions = [
                reaction,
                publisher.subscribe(to: Cause.self, on: .queue(queue)) { witness.see(cause: $0.number) },
                publisher.subscribe(to: Effect.self, on: .queue(queue)) { witness.see(effect: $0.number) },
            ]
            await race(publisher, witness)
            for subscription in subscriptions { subscription.cancel() }
        }
    }

    @Test func inASequenceOfACaseThatAQueuePublishes() async throws {
        // Cause and effect have one type here, because a sequence has one type; several sequences are in different
        // strands.
        let publisher = EventPublisher()
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "left"))) { [publisher] in
            if $0.number > 0 { publisher.publish(Ping(-$0.number)) }
        }
        let total = rounds
        let consumers = (0..<3).map { _ in
            Task { [sequence = publisher.events(of: Ping.self)] in
                var latest = 0
                var effects = 0
                var violations = 0
                for try await event in sequence {
                    if event.number > 0 {
                        latest = max(latest, event.number)
                    } else {
                        if -event.number > latest { violations += 1 }
                        effects += 1
                        if effects == total { break }
                    }
                }
                return violations
            }
        }
        for number in 1...total {
            publisher.publish(Ping(number))
            if number.isMultiple(of: 16) { await Task.yield() }
        }
        for consumer in consumers { #expect(try await consumer.value == 0) }
        subscription.cancel()
    }

    @Test func onTheQueueOfAPublisherToWhichItIsForwarded() async {
        let publisher = EventPublisher()
        let other = EventPublisher()
        let witness = Witness()
        let queue = DispatchQueue(label: "right")
        let subscriptions = [
            publisher.forward(Cause.self, to: other),
            publisher.forward(Effect.self, to: other),
            publisher.subscribe(to: Cause.self, on: .queue(DispatchQueue(label: "left"))) { [publisher] in
                publisher.publish(Effect(number: $0.number))
            },
            other.subscribe(to: Cause.self, on: .queue(queue)) { witness.see(cause: $0.number) },
            other.subscribe(to: Effect.self, on: .queue(queue)) { witness.see(effect: $0.number) },
        ]
        await race(publisher, witness)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func throughAChainOverManyStrands() async {
        // More strands than locks; each step is on another queue, and every queue sees all steps in their order.
        let publisher = EventPublisher()
        let steps = 40
        let chains = 60
        let violations = Counter()
        let ended = Collected<Int>()
        let subscriptions = (0..<steps).map { step in
            let seen = Holder<[Int: Int]>()
            seen.swap([:])
            return publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "\(step)"))) { [publisher] in
                let (chain, at) = ($0.number / 100, $0.number % 100)
                var places = seen.current ?? [:]
                if (places[chain] ?? -1) != at - 1 { violations.add() }
                places[chain] = at
                seen.swap(places)
                guard at == step else { return }
                if step + 1 < steps { publisher.publish(Ping($0.number + 1)) } else { ended.add(chain) }
            }
        }
        for chain in 0..<chains { publisher.publish(Ping(chain * 100)) }
        await ended.wait(for: chains)
        for subscription in subscriptions { await subscription.cancelAndWait() }
        #expect(violations.count == 0)
    }
}
