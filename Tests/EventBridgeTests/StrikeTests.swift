import DomainEvents
import EventBridge
import ExampleDomain
import FoundationEssentials
import Supervision
import TestSupport
import Testing

@Suite("What a worker dies of: redelivered, suspected, struck, dead-lettered", .serialized)
struct StrikeTests {
    private let publisher = EventPublisher()

    /// So few restarts that a worker is given up if an event's crashes count against the worker.
    private static func atMost(_ restarts: Int) -> RestartIntensity {
        RestartIntensity(restarts: restarts, within: .seconds(3_600))
    }

    @Test("A2: an event whose worker died over it comes again before newer ones, as attempt 2", .timeLimit(.minutes(5)))
    func redelivered() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("crash-once-on:poison", subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        for number: Int64 in 1...50 {
            publisher.publish(WorkRequested(number: number, text: number == 20 ? "poison" : ""))
        }
        await reports.exits.wait { $0.count == 1 }
        for number: Int64 in 51...60 { publisher.publish(WorkRequested(number: number, text: "")) }
        await reports.done.wait { $0.last?.number == 60 }
        await bridge.waitUntilIdle()
        let answers = reports.done.all
        // Events that were handled but not acknowledged may come twice; nothing is missing or out of order.
        var seen: Set<Int64> = []
        #expect(answers.map(\.number).filter { seen.insert($0).inserted } == Array(1...60))
        #expect(answers.filter { $0.number == 20 }.map(\.attempt) == [2])
        #expect(answers.filter { $0.number > 50 }.allSatisfy { $0.attempt == 1 })
        #expect(bridge.deadLetters.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test("A3: a trap in a handler is told with the signal and the event's id", .timeLimit(.minutes(5)))
    func trap() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("trap-on:poison", subscribes: [WorkRequested.self], limits: WorkerLimits(strikes: 1))
            ]
        )
        try await bridge.start()
        let id = try await publisher.send(WorkRequested(number: 1, text: "poison"))
        publisher.publish(WorkRequested(number: 2, text: ""))
        await reports.done.wait { !$0.isEmpty }
        // Reports come on a thread of their own.
        await bridge.waitUntilIdle()
        let exit = try #require(reports.exits.all.first)
        #expect(exit.reason.hasPrefix("killed by SIGILL") || exit.reason.hasPrefix("killed by SIGTRAP"))
        #expect(exit.outbox?.suspects == [id.description])
        let letter = try #require(reports.deadLettered.all.first)
        #expect(letter.id == id.description)
        #expect(letter.reasons == [exit.reason])
        #expect(letter.cause == .crashes)
        #expect(bridge.deadLetters.map(\.eventID) == [id])
        #expect(reports.done.all.map(\.number) == [2])
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "A4: an event that kills every worker is dead-lettered after three strikes, the others flow on in order",
        .timeLimit(.minutes(5))
    )
    func poison() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("crash-on:poison", subscribes: [WorkRequested.self])],
            // Nine crashes follow.
            intensity: Self.atMost(2)
        )
        try await bridge.start()
        let poison: Set<Int64> = [10, 20, 30]
        for number: Int64 in 1...40 {
            publisher.publish(WorkRequested(number: number, text: poison.contains(number) ? "poison" : ""))
        }
        await reports.done.wait { $0.last?.number == 40 }
        await bridge.waitUntilIdle()
        var seen: Set<Int64> = []
        let numbers = reports.done.all.map(\.number).filter { seen.insert($0).inserted }
        #expect(numbers == (1...40).filter { !poison.contains($0) })
        let letters = bridge.deadLetters
        #expect(letters.map(\.eventID.number) == letters.map(\.eventID.number).sorted())
        #expect(letters.count == 3)
        for letter in letters {
            #expect(letter.worker == "faulty" && letter.event == "WorkRequested" && letter.cause == .crashes)
            #expect(letter.strikes == 3 && letter.reasons.count == 3 && letter.attempts >= 3)
            #expect(letter.reasons.allSatisfy { $0.hasPrefix("killed by SIGABRT") })
        }
        #expect(reports.deadLettered.all.map(\.letter) == letters.map(\.id))
        #expect(reports.gaveUp.all.isEmpty)
        #expect(bridge.status.first?.state == .ready)
        #expect(reports.exits.all.count == 9)
        await bridge.shutdown()
        reports.end()
    }

    @Test("A worker whose crashes strike no event gets it as often as it crashes, and is given up with the event kept")
    func neverStruck() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("crash-on:poison", subscribes: [WorkRequested.self], limits: WorkerLimits(strikes: nil))
            ],
            intensity: Self.atMost(4)
        )
        try await bridge.start()
        let id = try await publisher.send(WorkRequested(number: 1, text: "poison"))
        await reports.gaveUp.wait { !$0.isEmpty }
        // Each crash counts for the worker itself, though only the one event was open.
        #expect(reports.exits.all.count == 5)
        #expect(reports.exits.all.allSatisfy { $0.outbox?.suspects == [id.description] })
        #expect(reports.deadLettered.all.isEmpty && bridge.deadLetters.isEmpty)
        #expect(bridge.statistics.map(\.sent.waiting) == [1])
        await bridge.shutdown()
        reports.end()
    }

    @Test("A worker that ends with status 78 is given up at once, strikes no event, and its events are kept")
    func misconfigured() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("misconfigured-on:poison", subscribes: [WorkRequested.self], limits: WorkerLimits(strikes: 1))
            ]
        )
        try await bridge.start()
        try await publisher.send(WorkRequested(number: 1, text: "poison"))
        await reports.gaveUp.wait { !$0.isEmpty }
        #expect(reports.exits.all.map(\.reason) == ["exited with status 78"])
        #expect(reports.gaveUp.all.map(\.reason) == ["exited with status 78"])
        #expect(reports.deadLettered.all.isEmpty && bridge.deadLetters.isEmpty)
        #expect(bridge.statistics.map(\.sent.waiting) == [1])
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "A5: a worker that exits with 0 unasked is treated by its restart type, and the event is kept",
        .timeLimit(.minutes(5)),
        arguments: RestartType.allCases
    )
    func unaskedExit(_ restart: RestartType) async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("exit-on:poison", restart: restart, subscribes: [WorkRequested.self])],
            intensity: Self.atMost(0)
        )
        try await bridge.start()
        // The worker stands still until it has been sent both: the first event alone may end it for good.
        let worker = try #require(reports.ready.all.first?.pid)
        #expect(try await ProcessSignal.stopEntirely(worker))
        publisher.publish(WorkRequested(number: 1, text: "poison"))
        publisher.publish(WorkRequested(number: 2, text: ""))
        #expect(ProcessSignal.goOn(worker))
        if restart == .permanent {
            await reports.done.wait { !$0.isEmpty }
            await bridge.waitUntilIdle()
            #expect(reports.deadLettered.all.first?.reasons == Array(repeating: "exited with status 0", count: 3))
            #expect(reports.exits.all.count == 3)
        } else {
            await reports.exits.wait { !$0.isEmpty }
            #expect(bridge.leftovers.map(\.events) == [2])
            #expect(bridge.status.first?.state == .stopped)
        }
        #expect(reports.exits.all.first?.reason == "exited with status 0")
        #expect(reports.exits.all.first?.wasAsked == false)
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "N6: a worker that crashes on every event is given up after three dead letters, the rest of its queue intact",
        .timeLimit(.minutes(5))
    )
    func crashesOnEverything() async throws {
        struct Between: DomainEvent {}
        let reports = WorkerReports(publisher)
        let between = publisher.subscribe(to: Between.self) { _ in _ = EventContext.current }
        defer { between.cancel() }
        let directory = try TemporaryDirectory()
        let cure = directory.path + "/cure"
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("crash-unless:\(cure)", subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        for number: Int64 in 1...10 {
            publisher.publish(WorkRequested(number: number, text: ""))
            // Reports are events, too, and may come between any two: the ten numbers need not be consecutive.
            publisher.publish(Between())
        }
        let gaveUp = try #require(await reports.gaveUp.wait { !$0.isEmpty }.first)
        #expect(gaveUp.reason.contains("3 events in a row were put aside"))
        #expect(gaveUp.reason.contains("SIGABRT"))
        // The oldest three, in order.
        let letters = bridge.deadLetters.map(\.eventID.number)
        #expect(letters.count == 3 && letters == letters.sorted())
        #expect(bridge.leftovers.map(\.events) == [7])
        #expect(reports.done.all.isEmpty)
        // The cause is removed.
        try Data().write(to: URL(fileURLWithPath: cure))
        bridge.restart("faulty")
        await reports.done.wait { $0.count == 7 }
        #expect(reports.done.all.map(\.number) == Array(4...10))
        #expect(try bridge.redeliverDeadLetters(of: "faulty") == 3)
        await reports.done.wait { $0.count == 10 }
        #expect(reports.done.all.suffix(3).map(\.number) == [1, 2, 3])
        #expect(reports.done.all.suffix(3).allSatisfy { $0.attempt >= 4 })
        #expect(bridge.deadLetters.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "Of two events that were open in a crash neither is struck; then they are sent one at a time",
        .timeLimit(.minutes(5))
    )
    func probation() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("crash-beside:poison", subscribes: [WorkRequested.self])],
            // The first crash counts, because the host does not know which event led to it. The others do not.
            intensity: Self.atMost(1)
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: "waits"))
        publisher.publish(WorkRequested(number: 2, text: "poison"))
        // Publish the third only now: on a busy machine a crash takes so long that a second thread could begin it.
        await reports.exits.wait { !$0.isEmpty }
        publisher.publish(WorkRequested(number: 3, text: ""))
        await reports.done.wait { $0.contains { $0.number == 3 } }
        await bridge.waitUntilIdle()
        #expect(reports.done.all.map(\.number) == [1, 3])
        #expect(reports.done.all.first?.attempt == 2)
        let letter = try #require(bridge.deadLetters.first)
        #expect(bridge.deadLetters.count == 1)
        #expect(letter.strikes == 3)
        #expect(letter.attempts == 4)
        #expect(reports.exits.all.map { $0.outbox?.suspects.count } == [2, 1, 1, 1])
        #expect(reports.gaveUp.all.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "A4: an event in whose handler every worker breaks the protocol is dead-lettered after three strikes, too",
        .timeLimit(.minutes(5))
    )
    func violation() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("violate-on:poison", subscribes: [WorkRequested.self])],
            // The first crash may count, because more than one event may have been open. The strikes do not.
            intensity: Self.atMost(1)
        )
        try await bridge.start()
        for number: Int64 in 1...40 {
            publisher.publish(WorkRequested(number: number, text: number == 10 ? "poison" : ""))
        }
        await bridge.waitUntilIdle()
        var seen: Set<Int64> = []
        let numbers = reports.done.all.map(\.number).filter { seen.insert($0).inserted }
        #expect(numbers.filter { $0 != 10 } == (1...40).filter { $0 != 10 })
        let letters = bridge.deadLetters
        #expect(letters.map(\.cause) == [.crashes] && letters.map(\.strikes) == [3])
        #expect(
            letters.flatMap(\.reasons).allSatisfy { $0.hasPrefix("broke the protocol: a frame of 4294967295 bytes ") }
        )
        #expect((3...4).contains(reports.exits.all.count))
        #expect(reports.gaveUp.all.isEmpty)
        #expect(bridge.status.first?.state == .ready)
        await bridge.shutdown()
        reports.end()
    }

    @Test("An end that was asked for strikes no event", .timeLimit(.minutes(5)))
    func restartStrikesNoEvent() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    "hang",
                    shutdown: .draining(grace: .milliseconds(50), terminate: .milliseconds(50)),
                    subscribes: [WorkRequested.self],
                    limits: WorkerLimits(strikes: 1)
                )
            ]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: ""))
        for round in 1...2 {
            bridge.restart("faulty")
            await reports.exits.wait { $0.count == round }
        }
        #expect(reports.deadLettered.all.isEmpty)
        #expect(bridge.leftovers.map(\.events) == [1])
        await bridge.shutdown()
        reports.end()
    }

    // MARK: - Given up

    @Test(
        "N7: copies for a worker that was given up are dead-lettered at once, and the others flow on",
        .timeLimit(.minutes(5)),
        arguments: [1_000, 5]
    )
    func givenUpWorkerHoldsNothingUp(room: Int) async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("none", name: "a", subscribes: [WorkRequested.self]),
                WorkerSpecification("b", executable: .path("/nonexistent"), subscribes: [WorkDone.self]),
            ],
            deadLetters: DeadLetterLimits(letters: room)
        )
        _ = try? await bridge.start()
        await reports.gaveUp.wait { !$0.isEmpty }
        await #expect(throws: DeliveryError.self) {
            _ = try await publisher.send(WorkDone(number: 0, text: "", attempt: 1))
        }
        #expect(bridge.deadLetters.isEmpty)
        for number: Int64 in 1...20 { publisher.publish(WorkRequested(number: number, text: "")) }
        await reports.done.wait { $0.last?.number == 20 }
        await bridge.waitUntilIdle()
        #expect(reports.done.all.map(\.number).suffix(20) == Array(1...20))
        let kept = min(room, 20)
        #expect(bridge.deadLetters.count == kept)
        #expect(
            bridge.deadLetters.allSatisfy { $0.worker == "b" && $0.cause == .workerUnavailable && $0.attempts == 0 }
        )
        #expect(bridge.deadLetters.allSatisfy { $0.eventID.origin == "a" })
        let first = try #require(bridge.deadLetters.first)
        #expect(throws: DeliveryError.self) { try bridge.redeliver(first.id) }
        #expect(bridge.deadLetters.count == kept)
        if kept < 20 {
            // Events beyond the room are dropped, and announced.
            await reports.dropped.wait { $0.filter { $0.link == "b" }.map(\.count).reduce(0, +) == 20 - kept }
        }
        await bridge.shutdown()
        reports.end()
    }
}
