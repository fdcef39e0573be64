import DomainEvents
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

@testable import EventBridge

private struct PoolJob: DomainEvent {
    let number: Int
    let key: Int?
}

private struct PoolJobDone: DomainEvent {
    let number: Int
    let key: Int?
    let member: String
}

/// Has a worker publish jobs.
private struct PoolJobsWanted: DomainEvent {
    let count: Int
}

private struct PoolQuestion: DomainEvent {
    let text: String
}

private struct PoolNews: DomainEvent {
    let number: Int
}

@Suite("A pool of workers shares its events")
struct PoolTests {
    private let publisher = EventPublisher()

    /// Answers each job with the name of the member that had it.
    private static func worker(_ pool: WorkerPool, name: String = "pool") -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [PoolJob.self, PoolQuestion.self, PoolNews.self], pool: pool) { publisher in
            let member = publisher.source.origin
            return [
                publisher.subscribe(to: PoolJob.self) { job in
                    publisher.publish(PoolJobDone(number: job.number, key: job.key, member: member))
                },
                publisher.subscribe(to: PoolQuestion.self) { question in
                    publisher.publish(PoolJobDone(number: question.text.count, key: nil, member: member))
                },
                publisher.subscribe(to: PoolNews.self) { news in
                    publisher.publish(PoolJobDone(number: news.number, key: nil, member: member))
                },
            ]
        }
    }

    /// Publishes jobs of its own when it is told to.
    private static let source = InMemoryWorker("source", subscribes: [PoolJobsWanted.self]) { publisher in
        [
            publisher.subscribe(to: PoolJobsWanted.self) { wanted in
                for number in 0..<wanted.count { publisher.publish(PoolJob(number: -number, key: number)) }
            }
        ]
    }

    private static func membersByKey(_ done: [PoolJobDone]) -> [Int?: Set<String>] {
        Dictionary(grouping: done, by: \.key).mapValues { Set($0.map(\.member)) }
    }

    @Test(
        "Each job goes to exactly one member, those with equal keys to the same and in order",
        .timeLimit(.minutes(5))
    )
    func orderByKey() async throws {
        let done = Collected<PoolJobDone>()
        let here = Collected<PoolJob>()
        let subscriptions = [
            publisher.subscribe(to: PoolJobDone.self) { done.add($0) },
            publisher.subscribe(to: PoolJob.self) { here.add($0) },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.worker(WorkerPool(4).keyed(PoolJob.self, byField: "key"))]
        )
        #expect(bridge.status.map(\.name) == ["pool.1", "pool.2", "pool.3", "pool.4"])
        for number in 0..<2_000 { publisher.publish(PoolJob(number: number, key: number % 50)) }
        await bridge.waitUntilIdle()
        #expect(here.all.map(\.number) == Array(0..<2_000))
        #expect(done.all.map(\.number).sorted() == Array(0..<2_000))
        #expect(Self.membersByKey(done.all).values.allSatisfy { $0.count == 1 })
        for jobs in Dictionary(grouping: done.all, by: \.key).values {
            #expect(jobs.map(\.number) == jobs.map(\.number).sorted())
        }
        let handled = bridge.statistics.map(\.sent.handled)
        #expect(handled.reduce(0, +) == 2_000 && handled.allSatisfy { $0 > 0 })
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test(
        "The host's jobs and another worker's with the same key have the same member, found by field or by function",
        .timeLimit(.minutes(5)),
        arguments: [
            WorkerPool(3).keyed(PoolJob.self, byField: "key"), WorkerPool(3).keyed(PoolJob.self, by: \.key),
        ]
    )
    func samePlace(pool: WorkerPool) async throws {
        let done = Collected<PoolJobDone>()
        let subscription = publisher.subscribe(to: PoolJobDone.self) { done.add($0) }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [Self.worker(pool), Self.source])
        for number in 0..<100 { publisher.publish(PoolJob(number: number, key: number)) }
        publisher.publish(PoolJobsWanted(count: 100))
        await done.wait { $0.count == 200 }
        await bridge.waitUntilIdle()
        #expect(done.all.count == 200)
        #expect(Self.membersByKey(done.all).values.allSatisfy { $0.count == 1 })
        #expect(Set(done.all.map(\.member)).count == 3)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("Which member a key has is the same in every run", .timeLimit(.minutes(5)))
    func stable() async throws {
        let done = Collected<PoolJobDone>()
        let subscription = publisher.subscribe(to: PoolJobDone.self) { done.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.worker(WorkerPool(4).keyed(PoolJob.self, byField: "key"))]
        )
        for number in 0..<6 { publisher.publish(PoolJob(number: number, key: number)) }
        await bridge.waitUntilIdle()
        let members = done.all.sorted { $0.number < $1.number }.map { String($0.member.suffix(1)) }
        #expect(members.joined() == "433122")
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("Without a key the member with the fewest events waiting gets the next one", .timeLimit(.minutes(5)))
    func leastWaiting() async throws {
        let done = Collected<PoolJobDone>()
        let begun = Collected<String>()
        let barrier = Barrier()
        let subscription = publisher.subscribe(to: PoolJobDone.self) { done.add($0) }
        let worker = InMemoryWorker("pool", subscribes: [PoolJob.self], pool: WorkerPool(3)) { publisher in
            let member = publisher.source.origin
            return [
                publisher.subscribe(to: PoolJob.self) { job in
                    if job.number == 0 {
                        begun.add(member)
                        barrier.wait()
                    }
                    publisher.publish(PoolJobDone(number: job.number, key: nil, member: member))
                }
            ]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        publisher.publish(PoolJob(number: 0, key: nil))
        let busy = try #require(await begun.wait { $0.count == 1 }.first)
        for number in 1...40 {
            publisher.publish(PoolJob(number: number, key: nil))
            await done.wait { $0.count == number }
            // Waits for acknowledgements on their way.
            while bridge.statistics.reduce(0, { $0 + $1.sent.waiting }) > 1 { await Task.yield() }
        }
        #expect(!done.all.contains { $0.member == busy })
        barrier.open()
        await bridge.waitUntilIdle()
        #expect(done.all.count == 41)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("Jobs without their key keep their order at one member, and that is said once", .timeLimit(.minutes(5)))
    func missingKey() async throws {
        let done = Collected<PoolJobDone>()
        let missing = Collected<EventKeyMissing>()
        let letters = Collected<EventDeadLettered>()
        let subscriptions = [
            publisher.subscribe(to: PoolJobDone.self) { done.add($0) },
            publisher.subscribe(to: EventKeyMissing.self) { missing.add($0) },
            publisher.subscribe(to: EventDeadLettered.self) { letters.add($0) },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.worker(WorkerPool(4).keyed(PoolJob.self, byField: "key"))]
        )
        for number in 0..<100 { publisher.publish(PoolJob(number: number, key: nil)) }
        await bridge.waitUntilIdle()
        #expect(done.all.map(\.number) == Array(0..<100))
        #expect(Set(done.all.map(\.member)) == ["pool.1"])
        #expect(missing.all.map(\.event) == [PoolJob.eventName])
        #expect(missing.all.map(\.worker) == ["pool"] && missing.all.map(\.member) == ["pool.1"])
        // The payload is no map: the member that gets the event refuses it.
        _ = bridge.publish(name: PoolJob.eventName, payload: [0xFF, 0x00])
        await letters.wait { $0.count == 1 }
        #expect(letters.all.map(\.worker) == ["pool.1"])
        #expect(bridge.deadLetters.map(\.worker) == ["pool.1"])
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("deliver waits for the chosen member alone, and request is answered by it", .timeLimit(.minutes(5)))
    func deliverAndRequest() async throws {
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.worker(WorkerPool(4).keyed(PoolJob.self, byField: "key"))]
        )
        for key in 0..<20 {
            let receipt = try await publisher.deliver(PoolJob(number: key, key: key), within: patience)
            let answer = try await publisher.request(
                PoolJob(number: key, key: key),
                awaiting: PoolJobDone.self,
                within: patience
            )
            #expect(receipt.handlers == [answer.member: 1])
        }
        await bridge.shutdown()
    }

    @Test("send waits for room at the chosen member alone", .timeLimit(.minutes(5)))
    func sendWaitsForOne() async throws {
        let barrier = Barrier()
        let done = Collected<Int>()
        let worker = InMemoryWorker(
            "pool",
            subscribes: [PoolJob.self],
            limits: WorkerLimits(outbox: 4_096, outboxHardLimit: 8_192),
            pool: WorkerPool(4).keyed(PoolJob.self, byField: "key")
        ) { publisher in
            let isBlocked = publisher.source.origin == "pool.4"
            return [
                publisher.subscribe(to: PoolJob.self) { job in
                    if isBlocked { barrier.wait() }
                    done.add(job.number)
                }
            ]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        // Key 0 belongs to the member that handles nothing for now, key 3 to another.
        let held = Task { for number in 0..<40 { try await publisher.send(PoolJob(number: number, key: 0)) } }
        while bridge.hasRoom(name: PoolJob.eventName) { await Task.yield() }
        for number in 100..<200 { try await publisher.send(PoolJob(number: number, key: 3)) }
        await done.wait { $0.count == 100 }
        #expect(done.all == Array(100..<200))
        barrier.open()
        try await held.value
        await bridge.waitUntilIdle()
        #expect(done.all.count == 140)
        await bridge.shutdown()
    }

    @Test(
        "What is for every member reaches all, and what a member asks for by itself only that one",
        .timeLimit(.minutes(5))
    )
    func everyMember() async throws {
        let done = Collected<PoolJobDone>()
        let subscription = publisher.subscribe(to: PoolJobDone.self) { done.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [Self.worker(WorkerPool(3).toEveryMember(PoolNews.self))]
        )
        publisher.publish(PoolNews(number: 1))
        await bridge.waitUntilIdle()
        #expect(Set(done.all.map(\.member)) == ["pool.1", "pool.2", "pool.3"])
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test(
        "What a member publishes goes to no other member, and its requests to others are answered to it",
        .timeLimit(.minutes(5))
    )
    func noEcho() async throws {
        let handled = Collected<String>()
        let answers = Collected<String>()
        let pool = InMemoryWorker(
            "pool",
            subscribes: [PoolJob.self],
            pool: WorkerPool(3).keyed(PoolJob.self, byField: "key")
        ) { publisher in
            let member = publisher.source.origin
            return [
                publisher.subscribe(to: PoolJob.self) { job async in
                    handled.add("\(member) \(job.number)")
                    guard job.number < 100 else { return }
                    publisher.publish(PoolJob(number: job.number + 100, key: job.number + 1))
                    let answer = try? await publisher.request(
                        PoolQuestion(text: "?"),
                        awaiting: PoolNews.self,
                        within: patience
                    )
                    answers.add("\(member) \(job.number) \(answer?.number ?? 0)")
                }
            ]
        }
        let other = InMemoryWorker("other", subscribes: [PoolQuestion.self]) { publisher in
            [publisher.subscribe(to: PoolQuestion.self) { _ in publisher.publish(PoolNews(number: 7)) }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [pool, other])
        for number in 0..<10 { publisher.publish(PoolJob(number: number, key: number)) }
        await answers.wait { $0.count == 10 }
        await bridge.waitUntilIdle()
        let members = Dictionary(
            uniqueKeysWithValues: handled.all.map { text in
                let parts = text.split(separator: " ")
                return (Int(parts[1]) ?? -1, parts[0])
            }
        )
        #expect(handled.all.count == 20)
        for number in 0..<10 { #expect(members[number] == members[number + 100]) }
        #expect(answers.all.allSatisfy { $0.hasSuffix(" 7") })
        await bridge.shutdown()
    }

    @Test("A pool with mistakes is refused when the bridge is made")
    func mistakes() {
        func mistakes(_ pool: WorkerPool, name: String = "pool") -> [String] {
            let pooled = WorkerSpecification(name, executable: .path("x"), subscribes: [PoolJob.self], pool: pool)
            let other = WorkerSpecification("pool.2", executable: .path("x"))
            return WorkerSpecification.validate([pooled, other])
        }
        #expect(mistakes(WorkerPool(0)) == ["worker \"pool\": a pool has 1 to 256 members; found 0"])
        #expect(mistakes(WorkerPool(.max)).count == 1)
        #expect(mistakes(WorkerPool(1)) == [])
        #expect(mistakes(WorkerPool(2)) == ["worker \"pool.2\": a member of the pool \"pool\" has this name"])
        #expect(
            mistakes(WorkerPool(1, keys: ["Jobs": .field("key"), PoolJob.eventName: .field("")])) == [
                "worker \"pool\": its pool has a key for Jobs, but the worker does not subscribe to Jobs",
                "worker \"pool\": the key of PoolJob is a field with an empty name",
            ]
        )
        let long = String(repeating: "x", count: 63)
        #expect(mistakes(WorkerPool(1), name: long).count == 1)
    }
}
