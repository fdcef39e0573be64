import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import Synchronization
import TestSupport
import Testing

private struct Question: DomainEvent {
    let number: Int
}

private struct Answer: DomainEvent {
    let number: Int
    let worker: String
}

private struct Note: DomainEvent {
    let number: Int
}

/// Decoding it fails, and is counted: a process that passes it on must not try.
private struct Sealed: DomainEvent {
    static let attempts = Atomic<Int>(0)
    let number: Int

    init(number: Int) {
        self.number = number
    }

    init(from decoder: any Decoder) throws {
        Self.attempts.wrappingAdd(1, ordering: .relaxed)
        number = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .number)
    }
}

private struct Guarded: DomainEvent {
    struct Negative: Error {}
    let number: Int

    func validate() throws {
        if number < 0 { throw Negative() }
    }
}

@Suite("Events go where they are wanted, and nowhere else")
struct RoutingTests {
    private let publisher = EventPublisher()

    @Test(
        "Each of three workers gets what the host publishes, and all answers come back in order",
        .timeLimit(.minutes(5))
    )
    func hostAndThreeWorkers() async throws {
        let answers = Collected<Answer>()
        let subscription = publisher.subscribe(to: Answer.self) { answers.add($0) }
        let names = ["a", "b", "c"]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: names.map { name in
                InMemoryWorker(name, subscribes: [Question.self]) { publisher in
                    [
                        publisher.subscribe(to: Question.self) { question in
                            publisher.publish(Answer(number: question.number, worker: name))
                        }
                    ]
                }
            }
        )
        for number in 1...1_000 { publisher.publish(Question(number: number)) }
        let all = await answers.wait { $0.count == 3_000 }
        for name in names { #expect(all.filter { $0.worker == name }.map(\.number) == Array(1...1_000)) }
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test(
        "What a worker publishes reaches another through the host, undecoded there, and not itself",
        .timeLimit(.minutes(5))
    )
    func workerToWorker() async throws {
        let atReceiver = Collected<Int>()
        let atSender = Collected<Int>()
        let other = Collected<Int>()
        let before = Sealed.attempts.load(ordering: .relaxed)
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("sender", subscribes: [Question.self]) { publisher in
                    [
                        publisher.subscribe(to: Question.self) { publisher.publish(Sealed(number: $0.number)) },
                        // Published here and not echoed: the event is seen once, as published, and never decoded.
                        publisher.subscribe(to: Sealed.self) { atSender.add($0.number) },
                    ]
                },
                InMemoryWorker("receiver", subscribes: [Sealed.self]) { publisher in
                    [publisher.subscribe(to: Sealed.self) { atReceiver.add($0.number) }]
                },
                InMemoryWorker("bystander") { publisher in
                    [publisher.subscribe(to: Note.self) { other.add($0.number) }]
                },
            ]
        )
        for number in 1...500 { publisher.publish(Question(number: number)) }
        await atReceiver.wait { $0.count == 500 }
        await bridge.waitUntilIdle()
        #expect(atReceiver.all == Array(1...500))
        #expect(atSender.all == Array(1...500))
        #expect(other.all.isEmpty)
        // Decoded once for each event, at the receiver: the host has passed the bytes on unchanged.
        #expect(Sealed.attempts.load(ordering: .relaxed) - before == 500)
        await bridge.shutdown()
    }

    @Test("Interest that comes and goes while the link is up is followed", .timeLimit(.minutes(5)))
    func interestIsFollowed() async throws {
        let notes = Collected<Int>()
        let answers = Collected<Answer>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("worker", subscribes: [Question.self]) { publisher in
                    [
                        publisher.subscribe(to: Question.self) { question in
                            publisher.publish(Note(number: question.number))
                            publisher.publish(Answer(number: question.number, worker: "worker"))
                        }
                    ]
                }
            ]
        )
        let always = publisher.subscribe(to: Answer.self) { answers.add($0) }
        publisher.publish(Question(number: 1))
        await answers.wait { $0.count == 1 }
        let some = publisher.subscribe(to: Note.self) { notes.add($0.number) }
        publisher.publish(Question(number: 2))
        await answers.wait { $0.count == 2 }
        some.cancel()
        publisher.publish(Question(number: 3))
        await answers.wait { $0.count == 3 }
        #expect(notes.all == [2])
        await bridge.shutdown()
        always.cancel()
    }

    @Test(
        "An event carries its cause, its root, its origin and its trace context across processes",
        .timeLimit(.minutes(5))
    )
    func contextCrosses() async throws {
        let contexts = Collected<EventContext>()
        let origin = Collected<EventContext>()
        let subscriptions = [
            publisher.subscribe(to: Answer.self) { _ in if let context = EventContext.current { contexts.add(context) }
            },
            publisher.subscribe(to: Question.self) { _ in if let context = EventContext.current { origin.add(context) }
            },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("first", subscribes: [Question.self]) { publisher in
                    [publisher.subscribe(to: Question.self) { publisher.publish(Note(number: $0.number)) }]
                },
                InMemoryWorker("second", subscribes: [Note.self]) { publisher in
                    [
                        // In an asynchronous handler the task carries the cause.
                        publisher.subscribe(to: Note.self) { note in
                            await Task.yield()
                            publisher.publish(Answer(number: note.number, worker: "second"))
                        }
                    ]
                },
            ]
        )
        let traceparent = try #require(Traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
        publisher.publish(Question(number: 1), traceparent: traceparent)
        await contexts.wait { $0.count == 1 }
        let answer = contexts.all[0]
        let question = origin.all[0]
        #expect(answer.traceparent == traceparent)
        #expect(answer.id.origin == "second")
        #expect(answer.cause?.origin == "first")
        #expect(answer.root == question.id)
        #expect(answer.attempt == 1)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("An event that its own check rejects reaches no handler and is refused by name", .timeLimit(.minutes(5)))
    func invalidEventIsRefused() async throws {
        let refused = Collected<EventRefused>()
        let handled = Collected<Int>()
        let subscription = publisher.subscribe(to: EventRefused.self) { refused.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("worker", subscribes: [Guarded.self]) { publisher in
                    [publisher.subscribe(to: Guarded.self) { handled.add($0.number) }]
                }
            ]
        )
        publisher.publish(Guarded(number: -1))
        publisher.publish(Guarded(number: 1))
        await handled.wait { !$0.isEmpty }
        await bridge.waitUntilIdle()
        #expect(handled.all == [1])
        #expect(refused.all.map(\.event) == ["Guarded"])
        #expect(refused.all.first?.reason.contains("Negative") == true)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("A payload with wrong fields is refused with the field's path", .timeLimit(.minutes(5)))
    func wrongFieldsAreRefused() async throws {
        let refused = Collected<EventRefused>()
        let subscription = publisher.subscribe(to: EventRefused.self) { refused.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("worker", subscribes: [Answer.self]) { publisher in
                    [publisher.subscribe(to: Answer.self) { _ in Issue.record("a handler got what does not decode") }]
                }
            ]
        )
        // {"number": "one"}
        let payload: [UInt8] = [0xA1, 0x66] + Array("number".utf8) + [0x63] + Array("one".utf8)
        _ = bridge.publish(name: "Answer", payload: payload)
        let all = await refused.wait { !$0.isEmpty }
        #expect(all[0].reason.contains("number"))
        #expect(all[0].worker == "worker")
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("What is published while a worker is down is kept for it", .timeLimit(.minutes(5)))
    func eventsAreKept() async throws {
        let numbers = Collected<Int>()
        let exits = Collected<WorkerExited>()
        let starts = Atomic<Int>(0)
        let subscription = publisher.subscribe(to: WorkerExited.self) { exits.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker(
                    "worker",
                    subscribes: [Question.self],
                    backoff: .exponential(from: .milliseconds(50), to: .seconds(1))
                ) { publisher in
                    starts.wrappingAdd(1, ordering: .relaxed)
                    return [publisher.subscribe(to: Question.self) { numbers.add($0.number) }]
                }
            ]
        )
        publisher.publish(Question(number: 1))
        await numbers.wait { $0.count == 1 }
        await bridge.waitUntilIdle()
        bridge.restart("worker")
        await exits.wait { $0.count == 1 }
        for number in 2...100 { publisher.publish(Question(number: number)) }
        await numbers.wait { $0.count == 100 }
        #expect(numbers.all == Array(1...100))
        #expect(starts.load(ordering: .relaxed) == 2)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test(
        "A worker that does not subscribe to what it is specified to makes the start fail by name",
        .timeLimit(.minutes(5))
    )
    func missingSubscriptionIsNamed() async throws {
        let error = await #expect(throws: BridgeError.self) {
            try await BridgeHost.inMemory(
                publisher,
                workers: [
                    InMemoryWorker("worker", subscribes: [Question.self, Note.self]) { publisher in
                        [publisher.subscribe(to: Note.self) { _ in }]
                    }
                ]
            )
        }
        #expect(error?.description.contains("Question") == true)
        #expect(error?.description.contains("Note") == false)
    }

    @Test("The order of delivery: into every outbox, then the handlers here", .timeLimit(.minutes(5)))
    func causeComesBeforeEffect() async throws {
        // The worker sees the question before the note that a local handler of the question publishes.
        let seen = Collected<String>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("worker", subscribes: [Question.self, Note.self]) { publisher in
                    [
                        publisher.subscribe(to: Question.self) { seen.add("question \($0.number)") },
                        publisher.subscribe(to: Note.self) { seen.add("note \($0.number)") },
                    ]
                }
            ]
        )
        let publisher = publisher
        let subscription = publisher.subscribe(to: Question.self) { publisher.publish(Note(number: $0.number)) }
        for number in 1...200 { publisher.publish(Question(number: number)) }
        let all = await seen.wait { $0.count == 400 }
        #expect(all == (1...200).flatMap { ["question \($0)", "note \($0)"] })
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test(
        "N9: no process sees an effect before its cause, however quick the first of two receivers is",
        .timeLimit(.minutes(5))
    )
    func effectNeverOvertakesItsCause() async throws {
        let seen = Collected<String>()
        let (seenHere, here) = (Collected<String>(), DispatchQueue(label: "here"))
        let subscriptions = [
            publisher.subscribe(to: Question.self, on: .queue(here)) { seenHere.add("question \($0.number)") },
            publisher.subscribe(to: Note.self, on: .queue(here)) { seenHere.add("note \($0.number)") },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                // The worker answers at once; the answer goes to the last worker, as the question does, and to the
                // publisher's own process.
                InMemoryWorker("quick", subscribes: [Question.self]) { publisher in
                    [publisher.subscribe(to: Question.self) { publisher.publish(Note(number: $0.number)) }]
                }
            ]
                // There are so many outboxes between the first and the last that the answer could be back before the
                // question is in all of them.
                + (1...40).map { number in
                    InMemoryWorker("bystander-\(number)", subscribes: [Question.self]) { publisher in
                        [publisher.subscribe(to: Question.self) { _ in }]
                    }
                } + [
                    InMemoryWorker("last", subscribes: [Question.self, Note.self]) { publisher in
                        [
                            publisher.subscribe(to: Question.self) { seen.add("question \($0.number)") },
                            publisher.subscribe(to: Note.self) { seen.add("note \($0.number)") },
                        ]
                    }
                ]
        )
        let count = rounds(1_000, atLeast: 200)
        for number in 1...count {
            publisher.publish(Question(number: number))
            // One at a time: an idle link is written at once.
            await seen.wait { $0.count == 2 * number }
        }
        for log in [seen, seenHere] {
            var asked: Set<String> = []
            let early = await log.wait(for: 2 * count)
                .filter { entry in
                    if entry.hasPrefix("question") { asked.insert(entry) }
                    return entry.hasPrefix("note") && !asked.contains("question" + entry.dropFirst(4))
                }
            #expect(early.isEmpty)
        }
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }
}
