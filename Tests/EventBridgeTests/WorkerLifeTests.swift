import BridgePlatform
import DomainEvents
import EventBridge
import ExampleDomain
import Supervision
import TestSupport
import Testing

@Suite("Workers as processes: what is started is watched, replaced, and gone in the end", .serialized)
struct WorkerLifeTests {
    private let publisher = EventPublisher()

    @Test("A worker killed while events flow is replaced, and every event is handled", .timeLimit(.minutes(5)))
    func killedWorkerIsReplaced() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [WorkRequested.self])])
        try await bridge.start()
        let count: Int64 = 5_000
        for number in 1...count {
            publisher.publish(WorkRequested(number: number, text: ""))
            if number == count / 2 {
                await reports.done.wait { $0.count > 100 }
                let pid = try #require(bridge.status.first?.pid)
                #expect(ProcessSignal.kill(pid))
            }
        }
        // Events keep their order, so the last one comes last.
        let results = await reports.done.wait { $0.last?.number == count }
        // Another thread reports the worker's end and its next start; the events need not wait for that.
        await reports.ready.wait { $0.count == 2 }
        #expect(reports.exits.all.map(\.reason) == ["killed by SIGKILL (9)"])
        // Events that were handled and not acknowledged when the worker died come again, marked as such.
        let repeated = Dictionary(grouping: results, by: \.number).values.filter { $0.count > 1 }
        for again in repeated { #expect(again.last?.attempt == 2) }
        var seen: Set<Int64> = []
        #expect(results.map(\.number).filter { seen.insert($0).inserted } == Array(1...count))
        await bridge.shutdown()
        reports.end()
    }

    @Test("A worker that ends at once is restarted up to its intensity and then given up", .timeLimit(.minutes(5)))
    func workerThatEndsAtOnceIsGivenUp() async throws {
        let gaveUp = Collected<WorkerGaveUp>()
        let subscription = publisher.subscribe(to: WorkerGaveUp.self) { gaveUp.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("exit-early", subscribes: [])],
            intensity: RestartIntensity(restarts: 3, within: .seconds(3600))
        )
        let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(error?.worker == "faulty")
        #expect(error?.description.contains("exited with status 0") == true)
        #expect(gaveUp.all.count == 1)
        #expect(bridge.status.first?.starts == 4)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test(
        "A program that cannot be started is named, with what was found",
        .timeLimit(.minutes(5)),
        arguments: [("/nonexistent/worker", "ENOENT"), ("/etc/passwd", "EACCES"), ("/", "EACCES")]
    )
    func unstartableProgramIsNamed(path: String, code: String) async throws {
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [WorkerSpecification("broken", executable: .path(path))]
        )
        let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(error?.code == .workerNotReady)
        #expect(error?.description.contains(path) == true)
        #expect(error?.description.contains(code) == true)
        await bridge.shutdown()
    }

    @Test("No worker is started without the guard that was asked for", arguments: ["/no/guard", "/etc/passwd"])
    func guardIsMissing(path: String) async throws {
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("never", subscribes: [])],
            workerGuard: .program(.path(path))
        )
        let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(error?.description.contains("the guard \(path) is no executable file") == true)
        await bridge.shutdown()
    }

    @Test("A worker that never says hello is stopped after its handshake time", .timeLimit(.minutes(5)))
    func silentWorkerIsStopped() async throws {
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("no-hello", handshakeTimeout: .milliseconds(200), subscribes: [])],
            intensity: RestartIntensity(restarts: 1, within: .seconds(3600))
        )
        let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(error?.description.contains("was not ready") == true)
        await bridge.shutdown()
    }

    @Test("C14: a worker of another version is refused once, naming both versions", .timeLimit(.minutes(5)))
    func otherVersionIsRefused() async throws {
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("bad-version", subscribes: [])])
        let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(error?.description.contains("version") == true)
        #expect(error?.description.contains("the host speaks version 1") == true)
        #expect(bridge.status.first?.starts == 1)
        await bridge.shutdown()
    }

    @Test(
        "A worker that breaks the protocol is named and replaced, and its siblings do not notice",
        .timeLimit(.minutes(5)),
        arguments: ["garbage", "huge-frame", "torn-frame", "flood-window", "name-all"]
    )
    func brokenWorkerIsNamed(misbehaviour: String) async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("none", name: "sound", subscribes: [WorkRequested.self]),
                faulty(misbehaviour, name: "broken", subscribes: []),
            ],
            intensity: RestartIntensity(restarts: 2, within: .seconds(3600))
        )
        try? await bridge.start()
        await reports.exits.wait { $0.count { $0.worker == "broken" } >= 3 }
        publisher.publish(WorkRequested(number: 1, text: "still there"))
        await reports.done.wait { $0.contains { $0.number == 1 } }
        #expect(reports.exits.all.allSatisfy { $0.worker == "broken" })
        if misbehaviour != "torn-frame" {
            #expect(reports.exits.all.allSatisfy { $0.reason.contains("broke the protocol") })
        }
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "A handler that throws is told to the sender with its error, and the worker lives on",
        .timeLimit(.minutes(5))
    )
    func thrownErrorReachesSender() async throws {
        let refused = Collected<EventRefused>()
        let done = Collected<WorkDone>()
        let subscriptions = [
            publisher.subscribe(to: EventRefused.self) { refused.add($0) },
            publisher.subscribe(to: WorkDone.self) { done.add($0) },
        ]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("throw-on:bad", subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: "bad"))
        publisher.publish(WorkRequested(number: 2, text: "good"))
        await done.wait { !$0.isEmpty }
        await bridge.waitUntilIdle()
        #expect(done.all.map(\.number) == [2])
        #expect(refused.all.map(\.event) == ["WorkRequested"])
        #expect(refused.all.first?.worker == "faulty")
        #expect(refused.all.first?.reason.contains("refused on purpose") == true)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("A worker that ignores every request to end is killed, and shutdown returns", .timeLimit(.minutes(5)))
    func stubbornWorkerIsKilled() async throws {
        let exits = Collected<WorkerExited>()
        let subscription = publisher.subscribe(to: WorkerExited.self) { exits.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    "ignore-sigterm",
                    shutdown: .draining(grace: .milliseconds(100), terminate: .milliseconds(100)),
                    subscribes: []
                )
            ]
        )
        try await bridge.start()
        await bridge.shutdown()
        #expect(exits.all.map(\.reason) == ["killed by SIGKILL (9)"])
        subscription.cancel()
    }

    @Test("Workers stop in the reverse of their start order", .timeLimit(.minutes(5)))
    func workersStopInReverse() async throws {
        let exits = Collected<WorkerExited>()
        let subscription = publisher.subscribe(to: WorkerExited.self) { exits.add($0) }
        let names = ["first", "second", "third"]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: names.map { faulty("none", name: $0, subscribes: [WorkRequested.self]) }
        )
        try await bridge.start()
        await bridge.shutdown()
        #expect(exits.all.map(\.worker) == names.reversed())
        #expect(exits.all.allSatisfy { $0.reason == "exited with status 0" && $0.wasAsked })
        subscription.cancel()
    }

    @Test(
        "A9: a stopped worker is found by its silence, killed, and replaced, and its events come again",
        .timeLimit(.minutes(5))
    )
    func stoppedWorkerIsFound() async throws {
        let reports = WorkerReports(publisher)
        let silent = Collected<WorkerUnresponsive>()
        let subscription = publisher.subscribe(to: WorkerUnresponsive.self) { silent.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    "none",
                    // Enough time that a worker which only waits for a processor does not seem silent.
                    heartbeat: Heartbeat(every: .milliseconds(100), tolerance: 40),
                    subscribes: [WorkRequested.self]
                )
            ]
        )
        try await bridge.start()
        let pid = try #require(bridge.status.first?.pid)
        #expect(try await ProcessSignal.stopEntirely(pid))
        publisher.publish(WorkRequested(number: 1, text: ""))
        await reports.ready.wait { $0.count == 2 }
        #expect(await reports.done.wait { !$0.isEmpty }.map(\.attempt) == [2])
        #expect(reports.exits.all.first?.reason.contains("gave no sign of life") == true)
        #expect(silent.all.map(\.pid) == [pid])
        #expect(silent.all.allSatisfy { $0.silentMilliseconds >= 4_000 })
        await bridge.shutdown()
        withExtendedLifetime(subscription) { reports.end() }
    }

    @Test("What a worker prints arrives line by line under its name", .timeLimit(.minutes(5)))
    func outputIsCaptured() async throws {
        let lines = Collected<WorkerOutput>()
        let subscription = publisher.subscribe(to: WorkerOutput.self) { lines.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("flood-stdout", subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1_000, text: ""))
        await lines.wait { $0.count == 2_000 }
        #expect(lines.all.count { $0.isError } == 1_000)
        #expect(lines.all.allSatisfy { $0.worker == "faulty" && $0.line.hasPrefix("a line that nothing") })
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("A bridge that has had a full life leaves no child and no descriptor behind", .timeLimit(.minutes(5)))
    func nothingIsLeft() async {
        // In a process of its own: other tests open and close descriptors at the same time.
        await #expect(processExitsWith: .success) {
            // This makes everything that is made once in the life of a process.
            try await liveThrough()
            let before = try Possessions()
            for _ in 0..<3 { try await liveThrough() }
            // A thread that has just reported the end of its link still has to release the socket.
            var after = try Possessions()
            let deadline = MonotonicClock.now() + 120_000_000_000
            while !after.isWithin(before), MonotonicClock.now() < deadline {
                await Task.yield()
                after = try Possessions()
            }
            guard after.isWithin(before) else {
                CurrentProcess.report("before: \(before); after: \(after)")
                CurrentProcess.exitImmediately(1)
            }
        }
    }

    @Test("Mistakes in specifications are all named at once", .timeLimit(.minutes(5)))
    func mistakesAreNamed() throws {
        let error = #expect(throws: BridgeError.self) {
            try BridgeHost(
                publisher: publisher,
                workers: [
                    WorkerSpecification("host", executable: .path("/bin/true")),
                    WorkerSpecification("twice", executable: .path("/bin/true")),
                    WorkerSpecification("twice", executable: .path("")),
                ]
            )
        }
        #expect(error?.description.contains("\"host\"") == true)
        #expect(error?.description.contains("twice") == true)
        #expect(error?.description.contains("executable is empty") == true)
    }
}

/// A bridge's life: start, a crash, work, a grandchild, a program that does not exist, the end.
private func liveThrough() async throws {
    let publisher = EventPublisher()
    let done = Collected<WorkDone>()
    let ready = Collected<WorkerReady>()
    let gaveUp = Collected<WorkerGaveUp>()
    let subscriptions = [
        publisher.subscribe(to: WorkDone.self) { done.add($0) },
        publisher.subscribe(to: WorkerReady.self) { ready.add($0) },
        publisher.subscribe(to: WorkerGaveUp.self) { gaveUp.add($0) },
    ]
    let bridge = try BridgeHost(
        publisher: publisher,
        workers: [
            faulty("none", name: "sound", subscribes: [WorkRequested.self]),
            faulty("crash-once-on:crash", name: "crashing", subscribes: [WorkRequested.self]),
            faulty("grandchild", name: "parent", subscribes: [WorkRequested.self]),
            WorkerSpecification("missing", executable: .path("/nonexistent")),
        ]
    )
    try? await bridge.start()
    await ready.wait { $0.count == 3 }
    publisher.publish(WorkRequested(number: 1, text: "crash"))
    await done.wait { $0.count == 3 }
    await ready.wait { $0.count == 4 }
    await gaveUp.wait { $0.count == 1 }
    await bridge.shutdown()
    for subscription in subscriptions { subscription.cancel() }
}
