import DomainEvents
import EventBridge
import EventBridgeTesting
import Synchronization
import TestSupport
import Testing

private struct Job: DomainEvent {
    let number: Int
}

private struct Outcome: DomainEvent {
    let number: Int
}

private struct Unwilling: Error, CustomStringConvertible {
    let description = "not today"
}

/// A handler that refuses certain numbers for as long as it is told to, and notes the others.
private final class Picky: Sendable {
    struct Handled: Sendable, Hashable {
        let number: Int
        let attempt: Int
        let id: String
    }

    let handled = Collected<Handled>()
    let isWilling = Atomic<Bool>(false)
    private let refuses: @Sendable (Int) -> Bool

    init(refuses: @escaping @Sendable (Int) -> Bool) {
        self.refuses = refuses
    }

    func handle(_ number: Int) throws {
        if refuses(number), !isWilling.load(ordering: .relaxed) { throw Unwilling() }
        let context = EventContext.current
        handled.add(
            Handled(number: number, attempt: context?.attempt ?? 0, id: context?.id.description ?? "")
        )
    }

    func worker(_ name: String) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [Job.self]) { [self] publisher in
            [publisher.subscribe(to: Job.self) { try self.handle($0.number) }]
        }
    }
}

@Suite("Events that could not be handled are kept, announced, and put back")
struct DeadLetterTests {
    private let publisher = EventPublisher()

    @Test(
        "C9: what a handler throws on is refused and dead-lettered, the others go on in order",
        .timeLimit(.minutes(5))
    )
    func handlerThrows() async throws {
        let picky = Picky { $0 == 3 }
        let refused = Collected<EventRefused>()
        let deadLettered = Collected<EventDeadLettered>()
        let subscriptions = [
            publisher.subscribe(to: EventRefused.self) { refused.add($0) },
            publisher.subscribe(to: EventDeadLettered.self) { deadLettered.add($0) },
        ]
        let bridge = try await BridgeHost.inMemory(publisher, workers: [picky.worker("worker")])
        for number in 1...5 { publisher.publish(Job(number: number)) }
        await picky.handled.wait { $0.count == 4 }
        await bridge.waitUntilIdle()
        #expect(picky.handled.all.map(\.number) == [1, 2, 4, 5])
        let letter = try #require(bridge.deadLetters.first)
        #expect(bridge.deadLetters.count == 1)
        #expect(letter.event == "Job" && letter.worker == "worker" && letter.cause == .refused)
        #expect(letter.reasons.count == 1 && letter.reasons[0].contains("not today"))
        #expect(letter.attempts == 1 && letter.strikes == 0)
        // {"number": 3}
        #expect(letter.payload == [0xA1, 0x66] + Array("number".utf8) + [0x03])
        #expect(letter.payloadBytes == letter.payload.count)
        #expect(refused.all.map(\.id) == [letter.eventID.description])
        #expect(deadLettered.all.map(\.id) == [letter.eventID.description])

        picky.isWilling.store(true, ordering: .relaxed)
        #expect(try bridge.redeliver(letter.id))
        await picky.handled.wait { $0.count == 5 }
        #expect(picky.handled.all.last == Picky.Handled(number: 3, attempt: 2, id: letter.eventID.description))
        #expect(bridge.deadLetters.isEmpty)
        #expect(try !bridge.redeliver(letter.id))
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("A letter goes back to the worker that failed, and to no other", .timeLimit(.minutes(5)))
    func onlyToWhoFailed() async throws {
        let willing = Picky { _ in false }
        let picky = Picky { $0 == 1 }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                willing.worker("willing"), picky.worker("picky"),
                // The events come from a worker: the host has custody of them.
                InMemoryWorker("origin", subscribes: [Outcome.self]) { publisher in
                    [publisher.subscribe(to: Outcome.self) { publisher.publish(Job(number: $0.number)) }]
                },
            ]
        )
        for number in 1...2 { publisher.publish(Outcome(number: number)) }
        await picky.handled.wait { $0.count == 1 }
        await bridge.waitUntilIdle()
        #expect(bridge.deadLetters.map(\.worker) == ["picky"])
        #expect(bridge.deadLetters.map(\.eventID.origin) == ["origin"])
        // Refused once more: the count of attempts goes on.
        #expect(try bridge.redeliverDeadLetters(of: "picky") == 1)
        await bridge.waitUntilIdle()
        #expect(bridge.deadLetters.map(\.attempts) == [2])
        picky.isWilling.store(true, ordering: .relaxed)
        #expect(try bridge.redeliverDeadLetters(of: "willing") == 0)
        #expect(try bridge.redeliverDeadLetters(of: "picky") == 1)
        await picky.handled.wait { $0.count == 2 }
        #expect(picky.handled.all.last?.attempt == 3)
        #expect(willing.handled.all.map(\.number) == [1, 2])
        await bridge.shutdown()
    }

    @Test(
        "What the host's own handlers refuse is kept for the host",
        .timeLimit(.minutes(5)),
        arguments: [false, true]
    )
    func hostRefuses(isAsync: Bool) async throws {
        let picky = Picky { $0 == 1 }
        let subscription =
            isAsync
            ? publisher.subscribe(to: Outcome.self) { event async throws in try picky.handle(event.number) }
            : publisher.subscribe(to: Outcome.self) { event in try picky.handle(event.number) }
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            [publisher.subscribe(to: Job.self) { publisher.publish(Outcome(number: $0.number)) }]
        }
        for number in 1...2 { publisher.publish(Job(number: number)) }
        await picky.handled.wait { $0.count == 1 }
        await bridge.waitUntilIdle()
        #expect(bridge.deadLetters.map(\.worker) == ["host"])
        #expect(bridge.deadLetters.map(\.event) == ["Outcome"])
        #expect(bridge.deadLetters.map(\.eventID.origin) == ["worker"])
        picky.isWilling.store(true, ordering: .relaxed)
        #expect(try bridge.redeliverDeadLetters(of: "host") == 1)
        await picky.handled.wait { $0.count == 2 }
        #expect(picky.handled.all.last?.number == 1)
        #expect(picky.handled.all.last?.attempt == 2)
        #expect(bridge.deadLetters.isEmpty)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test(
        "A worker with a letter is not told what its store may forget, and is told again if a caller had the refusal",
        .timeLimit(.minutes(5)),
        arguments: [false, true]
    )
    func forgetsNothing(isClaimed: Bool) async throws {
        let marks = Collected<UInt64?>()
        let worker = InMemoryWorker("worker", subscribes: [Job.self]) { publisher in
            [
                publisher.subscribe(to: Job.self) { job in
                    marks.add(EventContext.current?.settledBelow)
                    if job.number == 2, EventContext.current?.attempt == 1 { throw Unwilling() }
                }
            ]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        for number in 1...3 {
            if isClaimed {
                _ = try? await publisher.deliver(Job(number: number), within: .seconds(200))
            } else {
                publisher.publish(Job(number: number))
            }
            await marks.wait(for: number)
            await bridge.waitUntilIdle()
        }
        // The event of a letter may come again.
        #expect(try bridge.redeliverDeadLetters(of: "worker") == (isClaimed ? 0 : 1))
        await marks.wait(for: isClaimed ? 3 : 4)
        #expect(marks.all.map { $0 == nil } == (isClaimed ? [false, false, false] : [false, false, true, true]))
        await bridge.shutdown()
    }

    @Test("A report that a worker refuses is not kept: it causes no further ones", .timeLimit(.minutes(5)))
    func reportIsNotKept() async throws {
        let picky = Picky { _ in true }
        let refused = Collected<EventRefused>()
        let subscription = publisher.subscribe(to: EventRefused.self) { refused.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                picky.worker("picky"),
                InMemoryWorker("reader", subscribes: [EventDeadLettered.self]) { publisher in
                    [publisher.subscribe(to: EventDeadLettered.self) { _ in throw Unwilling() }]
                },
            ]
        )
        publisher.publish(Job(number: 1))
        await refused.wait { $0.count == 2 }
        await bridge.waitUntilIdle()
        #expect(refused.all.map(\.event) == ["Job", "EventDeadLettered"])
        #expect(bridge.deadLetters.map(\.event) == ["Job"])
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("A letter that has no subscriber left in the host is not put back, and stays", .timeLimit(.minutes(5)))
    func noSubscriberIsLeft() async throws {
        let picky = Picky { _ in true }
        let subscription = publisher.subscribe(to: Outcome.self) { event in try picky.handle(event.number) }
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            [publisher.subscribe(to: Job.self) { publisher.publish(Outcome(number: $0.number)) }]
        }
        publisher.publish(Job(number: 1))
        await bridge.waitUntilIdle()
        let letter = try #require(bridge.deadLetters.first)
        subscription.cancel()
        let error = #expect(throws: DeliveryError.self) { try bridge.redeliver(letter.id) }
        #expect(error?.code == .noSubscriber)
        #expect(bridge.deadLetters.map(\.id) == [letter.id])
        picky.isWilling.store(true, ordering: .relaxed)
        let again = publisher.subscribe(to: Outcome.self) { event in try picky.handle(event.number) }
        #expect(try bridge.redeliver(letter.id))
        #expect(picky.handled.all.map(\.attempt) == [2])
        #expect(bridge.deadLetters.isEmpty)
        await bridge.shutdown()
        again.cancel()
    }

    @Test(
        "What the host's handlers refuse again is a letter again, also where there is no room for a new one",
        .timeLimit(.minutes(5)),
        arguments: [false, true]
    )
    func refusedAgain(isAsync: Bool) async throws {
        let picky = Picky { _ in true }
        let subscription =
            isAsync
            ? publisher.subscribe(to: Outcome.self) { event async throws in try picky.handle(event.number) }
            : publisher.subscribe(to: Outcome.self) { event in try picky.handle(event.number) }
        let letters = Collected<EventDeadLettered>()
        let noted = publisher.subscribe(to: EventDeadLettered.self) { letters.add($0) }
        let origin = InMemoryWorker("origin", subscribes: [Job.self]) { publisher in
            [
                publisher.subscribe(to: Job.self) {
                    if $0.number == 1 { publisher.publish(Outcome(number: 1)) }
                }
            ]
        }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Picky { $0 == 2 }.worker("picky"), origin],
            deadLetters: DeadLetterLimits(letters: 1)
        )
        // The host's letter takes all the room, and the worker's letter comes beyond it.
        for number in 1...2 {
            publisher.publish(Job(number: number))
            await letters.wait { $0.count == number }
        }
        #expect(bridge.deadLetters.map(\.worker) == ["host", "picky"])
        #expect(try bridge.redeliver(bridge.deadLetters[0].id))
        await letters.wait { $0.count == 3 }
        #expect(bridge.deadLetters.map(\.worker) == ["picky", "host"])
        #expect(bridge.deadLetters.map(\.attempts) == [1, 2])
        await bridge.shutdown()
        withExtendedLifetime((subscription, noted)) {}
    }

    // MARK: - Publishers that wait in another process

    /// The side that refuses what a worker delivers.
    enum Refuser: CaseIterable {
        case worker
        case host
    }

    @Test(
        "What is refused when the worker that delivered it has ceased to wait is kept",
        .timeLimit(.minutes(5)),
        arguments: Refuser.allCases
    )
    func callerHasGone(refuser: Refuser) async throws {
        let errors = Collected<DeliveryError.Code?>()
        let letters = try await refusal(by: refuser, within: .milliseconds(50), errors: errors) {
            await errors.wait(for: 1)
        }
        #expect(errors.all == [.timedOut])
        #expect(letters.count == 1)
    }

    @Test(
        "A worker that waits for what it has delivered gets the error, and what was refused is kept as well",
        .timeLimit(.minutes(5)),
        arguments: Refuser.allCases
    )
    func callerWaits(refuser: Refuser) async throws {
        let errors = Collected<DeliveryError.Code?>()
        let letters = try await refusal(by: refuser, within: .seconds(240), errors: errors) {}
        #expect(errors.all == [.refused])
        #expect(letters.count == 1)
    }

    /// A worker delivers an event that is refused, after `waiting` has returned.
    private func refusal(
        by refuser: Refuser,
        within limit: Duration,
        errors: Collected<DeliveryError.Code?>,
        after waiting: @escaping @Sendable () async -> Void
    ) async throws -> [DeadLetter] {
        let deadLettered = Collected<EventDeadLettered>()
        let reports = publisher.subscribe(to: EventDeadLettered.self) { deadLettered.add($0) }
        @Sendable func refuses(_ publisher: EventPublisher) -> Subscription {
            publisher.subscribe(to: Outcome.self) { _ async throws in
                await waiting()
                throw Unwilling()
            }
        }
        var workers = [
            InMemoryWorker("caller", subscribes: [Job.self]) { publisher in
                [
                    publisher.subscribe(to: Job.self) { _ async in
                        do {
                            try await publisher.deliver(Outcome(number: 1), within: limit)
                        } catch {
                            errors.add((error as? DeliveryError)?.code)
                        }
                    }
                ]
            }
        ]
        if refuser == .worker {
            workers.append(InMemoryWorker("refuser", subscribes: [Outcome.self]) { publisher in [refuses(publisher)] })
        }
        let own = refuser == .host ? refuses(publisher) : nil
        let bridge = try await BridgeHost.inMemory(publisher, workers: workers)
        publisher.publish(Job(number: 1))
        await deadLettered.wait(for: 1)
        await errors.wait(for: 1)
        await bridge.waitUntilIdle()
        let letters = bridge.deadLetters
        #expect(letters.map(\.worker) == [refuser == .host ? "host" : "refuser"])
        #expect(letters.map(\.eventID.origin) == ["caller"])
        #expect(deadLettered.all.map(\.letter) == letters.map(\.id))
        await bridge.shutdown()
        own?.cancel()
        reports.cancel()
        return letters
    }

    // MARK: - Bounds

    @Test("When the letters are full their worker gets nothing, until there is room again", .timeLimit(.minutes(5)))
    func full() async throws {
        let picky = Picky { $0 < 10 }
        let other = Picky { _ in false }
        let full = Collected<DeadLettersFull>()
        let deadLettered = Collected<EventDeadLettered>()
        let subscriptions = [
            publisher.subscribe(to: DeadLettersFull.self) { full.add($0) },
            publisher.subscribe(to: EventDeadLettered.self) { deadLettered.add($0) },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [picky.worker("picky"), other.worker("other")],
            deadLetters: DeadLetterLimits(letters: 2)
        )
        for number in 1...2 {
            publisher.publish(Job(number: number))
            await deadLettered.wait { $0.count == number }
        }
        let first = try #require(await full.wait { !$0.isEmpty }.first)
        #expect(first.worker == "picky" && first.letters == 2 && first.bytes == 512)
        publisher.publish(Job(number: 10))
        publisher.publish(Job(number: 3))
        publisher.publish(Job(number: 11))
        await other.handled.wait { $0.count == 5 }
        // `waitUntilIdle` does not wait for events that stand still.
        await bridge.waitUntilIdle()
        #expect(picky.handled.all.isEmpty)
        #expect(bridge.leftovers.map(\.worker) == ["picky"])
        #expect(bridge.leftovers.map(\.events) == [3])
        #expect(bridge.discardDeadLetter(bridge.deadLetters[0].id))
        await picky.handled.wait { $0.map(\.number) == [10, 11] }
        // The third event was refused in its turn, and the room for letters is full again.
        await full.wait { $0.count == 2 }
        #expect(bridge.deadLetters.count == 2)
        #expect(!bridge.discardDeadLetter(.max))
        // An event that is put back does not take the room that it needs itself.
        picky.isWilling.store(true, ordering: .relaxed)
        #expect(try bridge.redeliverDeadLetters(of: "picky") == 2)
        await picky.handled.wait { $0.count == 4 }
        await bridge.waitUntilIdle()
        #expect(bridge.deadLetters.isEmpty && bridge.leftovers.isEmpty)
        #expect(full.all.count == 2)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("What was in flight when the letters became full is still taken", .timeLimit(.minutes(5)))
    func inFlight() async throws {
        let isReleased = Collected<Bool>()
        let full = Collected<DeadLettersFull>()
        let begun = Collected<Int>()
        let subscriptions = [publisher.subscribe(to: DeadLettersFull.self) { full.add($0) }]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("worker", subscribes: [Job.self]) { publisher in
                    [
                        publisher.subscribe(to: Job.self) { job in begun.add(job.number) },
                        publisher.subscribe(to: Job.self) { _ async throws in
                            await isReleased.wait { !$0.isEmpty }
                            throw Unwilling()
                        },
                    ]
                }
            ],
            deadLetters: DeadLetterLimits(letters: 1)
        )
        for number in 1...3 { publisher.publish(Job(number: number)) }
        await begun.wait { $0.count == 3 }
        isReleased.add(true)
        await full.wait { !$0.isEmpty }
        publisher.publish(Job(number: 4))
        await bridge.waitUntilIdle()
        #expect(bridge.deadLetters.count == 3)
        #expect(bridge.leftovers.map(\.events) == [1])
        #expect(full.all.count == 1)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("The oldest letter makes room if that is wished, and it is said", .timeLimit(.minutes(5)))
    func evicted() async throws {
        let picky = Picky { _ in true }
        let evicted = Collected<DeadLetterEvicted>()
        let full = Collected<DeadLettersFull>()
        let deadLettered = Collected<EventDeadLettered>()
        let subscriptions = [
            publisher.subscribe(to: DeadLetterEvicted.self) { evicted.add($0) },
            publisher.subscribe(to: DeadLettersFull.self) { full.add($0) },
            publisher.subscribe(to: EventDeadLettered.self) { deadLettered.add($0) },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [picky.worker("picky")],
            deadLetters: DeadLetterLimits(letters: 2, whenFull: .evictOldest)
        )
        for number in 1...5 { publisher.publish(Job(number: number)) }
        await deadLettered.wait { $0.count == 5 }
        #expect(bridge.deadLetters.map(\.id) == deadLettered.all.suffix(2).map(\.letter))
        #expect(evicted.all.map(\.letter) == deadLettered.all.prefix(3).map(\.letter))
        #expect(evicted.all.map(\.id) == deadLettered.all.prefix(3).map(\.id))
        #expect(full.all.isEmpty)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("The letters are full by their bytes too, and mistakes in the limits are named", .timeLimit(.minutes(5)))
    func bytes() async throws {
        let picky = Picky { _ in true }
        let full = Collected<DeadLettersFull>()
        let subscription = publisher.subscribe(to: DeadLettersFull.self) { full.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [picky.worker("picky")],
            deadLetters: DeadLetterLimits(bytes: 200)
        )
        publisher.publish(Job(number: 1))
        #expect(await full.wait { !$0.isEmpty }.first?.letters == 1)
        await bridge.shutdown()
        let error = #expect(throws: BridgeError.self) {
            try BridgeHost(publisher: publisher, workers: [], deadLetters: DeadLetterLimits(letters: 0, bytes: 0))
        }
        #expect(error?.description.split(separator: "\n").count == 2)
        subscription.cancel()
    }
}
