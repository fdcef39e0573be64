import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import Foundation
import Supervision
import TestSupport
import Testing

@Suite("A handler that does not return in time", .serialized, .timeLimit(.minutes(5)))
struct HandlerDeadlineTests {
    private let publisher = EventPublisher()

    /// Long enough for a handler on a busy machine, short enough for a test.
    private static let deadline = Duration.seconds(1)

    /// A worker may have no crash of its own: each crash must count against an event.
    private static let noCrash = RestartIntensity(restarts: 0, within: .seconds(3_600))

    @Test("C10: the worker is killed, and the event comes again as attempt 2, ahead of newer ones")
    func redelivered() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    "hang-once-on:hangs",
                    subscribes: [WorkRequested.self],
                    limits: WorkerLimits(handlerDeadline: Self.deadline)
                )
            ],
            intensity: Self.noCrash
        )
        try await bridge.start()
        let id = try await publisher.send(WorkRequested(number: 1, text: "hangs"))
        for number: Int64 in 2...20 { publisher.publish(WorkRequested(number: number, text: "")) }
        await reports.done.wait { $0.count == 20 }
        #expect(reports.done.all.map(\.number) == Array(1...20))
        // The other events had waited for their turn and had not begun; the first was on its second attempt.
        #expect(reports.done.all.first?.attempt == 2)
        let exit = try #require(reports.exits.all.first)
        #expect(reports.exits.all.count == 1)
        #expect(exit.reason == "had not finished WorkRequested (\(id)) after 1 s")
        #expect(!exit.wasAsked)
        #expect(exit.outbox?.suspects == [id.description])
        await bridge.shutdown()
        reports.end()
    }

    @Test("C10: an event whose handler never returns is dead-lettered after its strikes, and no other is held up")
    func deadLettered() async throws {
        let reports = WorkerReports(publisher)
        let limits = WorkerLimits(strikes: 2, handlerDeadline: Self.deadline)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("hang-on:hangs", name: "stuck", subscribes: [WorkRequested.self], limits: limits),
                faulty("none", name: "sound", subscribes: [WorkRequested.self], limits: limits),
            ],
            intensity: Self.noCrash
        )
        try await bridge.start()
        let sound = bridge.status.last?.pid
        for number: Int64 in 1...30 {
            publisher.publish(WorkRequested(number: number, text: number == 10 ? "hangs" : ""))
        }
        // All events of the sound worker, while the other worker is at its tenth.
        await reports.done.wait { $0.count >= 30 + 9 }
        await reports.done.wait { $0.count { $0.number == 30 } == 2 }
        await bridge.waitUntilIdle()
        let letter = try #require(bridge.deadLetters.first)
        #expect(bridge.deadLetters.count == 1)
        #expect(letter.worker == "stuck" && letter.cause == .crashes && letter.strikes == 2)
        #expect(letter.reasons.count == 2)
        #expect(letter.reasons.allSatisfy { $0 == "had not finished WorkRequested (\(letter.eventID)) after 1 s" })
        #expect(reports.exits.all.map(\.worker) == ["stuck", "stuck"])
        #expect(reports.exits.all.map(\.reason) == letter.reasons)
        #expect(bridge.status.map(\.state) == [.ready, .ready])
        #expect(bridge.status.last?.pid == sound)
        #expect(Set(reports.done.all.map(\.number)) == Set(1...30))
        await bridge.shutdown()
        reports.end()
    }

    @Test("C10: handlers that are slow and in time are left alone, however long their queue takes")
    func slowAndInTime() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    "slow:100ms",
                    subscribes: [WorkRequested.self],
                    limits: WorkerLimits(handlerDeadline: .milliseconds(2_500))
                )
            ]
        )
        try await bridge.start()
        for number: Int64 in 1...30 { publisher.publish(WorkRequested(number: number, text: "")) }
        await reports.done.wait { $0.count == 30 }
        #expect(reports.done.all.allSatisfy { $0.attempt == 1 })
        await bridge.shutdown()
        #expect(reports.exits.all.allSatisfy { $0.wasAsked })
        reports.end()
    }

    @Test("C10: handlers that acknowledge by their own call, without a queue, are left alone as well")
    func manualAndInTime() async throws {
        let exits = Collected<WorkerExited>()
        let attempts = Collected<Int>()
        let subscription = publisher.subscribe(to: WorkerExited.self) { exits.add($0) }
        let worker = InMemoryWorker(
            subscribes: [WorkRequested.self],
            limits: WorkerLimits(handlerDeadline: .milliseconds(2_500))
        ) { publisher in
            [
                publisher.subscribe(to: WorkRequested.self, acknowledging: .manually) { delivery in
                    // The time that the handler takes is what this is about.
                    Thread.sleep(forTimeInterval: 0.2)
                    attempts.add(delivery.context.attempt)
                    delivery.acknowledge()
                }
            ]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        for number: Int64 in 1...25 { publisher.publish(WorkRequested(number: number, text: "")) }
        await attempts.wait { $0.count >= 25 }
        await bridge.shutdown()
        #expect(attempts.all == Array(repeating: 1, count: 25))
        #expect(exits.all.allSatisfy { $0.wasAsked })
        subscription.cancel()
    }

    @Test("C10: events that wait in a task's queue behind one that hangs get no strike")
    func waitingInQueue() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    // An async handler that hangs only over the first delivery of an event with the text `waits`.
                    "crash-beside:nothing",
                    subscribes: [WorkRequested.self],
                    limits: WorkerLimits(strikes: 1, handlerDeadline: Self.deadline)
                )
            ]
        )
        try await bridge.start()
        for number: Int64 in 1...20 {
            publisher.publish(WorkRequested(number: number, text: number == 1 ? "waits" : ""))
        }
        await reports.done.wait { $0.count == 20 }
        await bridge.waitUntilIdle()
        #expect(reports.done.all.map(\.number) == Array(1...20))
        #expect(reports.done.all.first?.attempt == 2)
        // A single strike would have made any of them a dead letter.
        #expect(bridge.deadLetters.isEmpty)
        #expect(reports.exits.all.count == 1)
        #expect(reports.exits.all.first?.reason.hasPrefix("had not finished WorkRequested (host-") == true)
        await bridge.shutdown()
        reports.end()
    }

    @Test("C10: a worker in memory is ended over inline and async handlers alike", arguments: [false, true])
    func inMemory(isAsync: Bool) async throws {
        let exits = Collected<WorkerExited>()
        let attempts = Collected<Int>()
        let handled = Collected<Int64>()
        let end = Collected<Bool>()
        let barrier = Barrier()
        let subscription = publisher.subscribe(to: WorkerExited.self) { exits.add($0) }
        let worker = InMemoryWorker(
            subscribes: [WorkRequested.self],
            backoff: .exponential(from: .milliseconds(10), to: .milliseconds(10)),
            limits: WorkerLimits(strikes: 2, handlerDeadline: Self.deadline)
        ) { publisher in
            @Sendable func isFine(_ event: WorkRequested) -> Bool {
                guard event.text == "hangs" else {
                    handled.add(event.number)
                    return true
                }
                attempts.add(EventContext.current?.attempt ?? 0)
                return false
            }
            if isAsync {
                return [
                    publisher.subscribe(to: WorkRequested.self) { event async in
                        if !isFine(event) { await end.wait { !$0.isEmpty } }
                    }
                ]
            }
            return [publisher.subscribe(to: WorkRequested.self) { if !isFine($0) { barrier.wait() } }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        let id = try await publisher.send(WorkRequested(number: 1, text: "hangs"))
        // Sent alone: otherwise the host could not tell which event in the task's queue hung.
        await exits.wait { $0.count == 2 }
        try await publisher.send(WorkRequested(number: 2, text: ""))
        await handled.wait { $0 == [2] }
        #expect(bridge.deadLetters.map(\.eventID) == [id])
        #expect(Set(attempts.all) == [1, 2])
        #expect(exits.all.allSatisfy { $0.reason == "had not finished WorkRequested (\(id)) after 1 s" })
        end.add(true)
        barrier.open()
        await bridge.shutdown()
        subscription.cancel()
    }
}
