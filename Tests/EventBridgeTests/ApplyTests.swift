import BridgePlatform
import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import Locks
import Supervision
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("Bringing a bridge to other workers while events flow", .serialized)
struct ApplyTests {
    private let publisher = EventPublisher()

    /// The answers that came, by the worker that gave them, checked as they come: none twice, none overtaken, none at a
    /// second attempt.
    private final class Ledger: @unchecked Sendable {
        // Sendable: guarded by `lock`.
        private let lock = Lock()
        private var numbers: [String: [Int64]] = [:]
        private var mistakes: [String] = []
        private let news = Collected<Void>()
        private var subscription: Subscription?

        init(_ publisher: EventPublisher) {
            subscription = publisher.subscribe(to: WorkDone.self) { [weak self] done in
                self?.note(done, of: EventContext.current?.id.origin ?? "")
            }
        }

        private func note(_ done: WorkDone, of worker: String) {
            lock.withLock {
                if let last = numbers[worker]?.last, done.number != last + 1 {
                    mistakes.append("\(worker): \(done.number) behind \(last)")
                }
                if done.attempt != 1 { mistakes.append("\(worker): \(done.number) at attempt \(done.attempt)") }
                numbers[worker, default: []].append(done.number)
            }
            news.add(())
        }

        func wait(for number: Int64, of worker: String) async {
            await news.wait { [self] _ in (lock.withLock { numbers[worker]?.last } ?? 0) >= number }
        }

        subscript(worker: String) -> [Int64] { lock.withLock { numbers[worker] ?? [] } }

        var complaints: [String] { lock.withLock { mistakes } }
    }

    /// Publishes as fast as there is room until it is stopped.
    private final class Load: Sendable {
        private let isOver = Collected<Void>()
        private let sent = Collected<Int64>()
        private let task: Task<Int64, any Error>

        init(_ publisher: EventPublisher) {
            task = Task { [isOver, sent] in
                var number: Int64 = 0
                while isOver.all.isEmpty {
                    number += 1
                    try await publisher.send(WorkRequested(number: number, text: ""))
                    if number % 100 == 0 { sent.add(number) }
                }
                return number
            }
        }

        /// Returns when more has been published.
        func goOn() async {
            let count = sent.all.count
            await sent.wait { $0.count > count + 1 }
        }

        func stop() async throws -> Int64 {
            isOver.add(())
            return try await task.value
        }
    }

    private func worker(
        _ name: String,
        _ misbehaviour: String = "none",
        variable: String? = nil,
        shutdown: ShutdownSequence = .draining(grace: patience, terminate: patience)
    ) -> WorkerSpecification {
        var worker = faulty(misbehaviour, name: name, shutdown: shutdown, subscribes: [WorkRequested.self])
        worker.child.environment["VARIANT"] = variable
        return worker
    }

    private func bridge(_ workers: [WorkerSpecification]) async throws -> BridgeHost {
        let bridge = try BridgeHost(publisher: publisher, workers: workers)
        try await bridge.start()
        return bridge
    }

    private func pids(_ bridge: BridgeHost) -> [String: Int32] {
        bridge.status.reduce(into: [:]) { $0[$1.name] = $1.pid }
    }

    // MARK: - Under load

    @Test(
        "Under load each event goes by the old workers or by the new, in order; one that stays keeps its process",
        .timeLimit(.minutes(10))
    )
    func underLoad() async throws {
        let ledger = Ledger(publisher)
        let bridge = try await bridge([worker("stays"), worker("changes"), worker("goes")])
        let before = pids(bridge)
        let load = Load(publisher)
        await load.goOn()
        let changes = try await bridge.apply(
            [worker("new"), worker("stays"), worker("changes", variable: "2")],
            finishingWithin: patience
        )
        #expect(changes.started == ["new"])
        #expect(changes.stopped == ["goes"])
        #expect(changes.replaced == ["changes"])
        #expect(changes.unchanged == ["stays"])
        #expect(changes.failures.isEmpty)
        #expect(bridge.status.map(\.name) == ["stays", "changes", "new"])
        #expect(bridge.status.allSatisfy { $0.state == .ready })
        #expect(pids(bridge)["stays"] == before["stays"])
        #expect(pids(bridge)["changes"] != before["changes"])
        await load.goOn()
        let last = try await load.stop()
        for name in ["stays", "changes", "new"] { await ledger.wait(for: last, of: name) }
        #expect(ledger.complaints.isEmpty)
        #expect(ledger["stays"] == Array(1...last))
        #expect(ledger["changes"] == Array(1...last))
        // The new worker went on where the old one had ended.
        #expect(ledger["goes"] + ledger["new"] == Array(1...last))
        #expect(!ledger["goes"].isEmpty && !ledger["new"].isEmpty)
        #expect(bridge.deadLetters.isEmpty)
        #expect(bridge.statistics.map(\.worker) == ["stays", "changes", "new"])
        #expect(await bridge.shutdown().isComplete)
    }

    @Test("A host whose workers come and go does not grow by what each of them had", .timeLimit(.minutes(5)))
    func comeAndGo() async throws {
        let bridge = try await bridge([worker("stays")])
        /// Another worker comes, gets events and goes.
        func comeAndGo(_ numbers: Range<Int64>) async throws {
            for number in numbers {
                _ = try await bridge.apply([worker("stays"), worker("comes")], finishingWithin: patience)
                for _ in 0..<100 { try await publisher.send(WorkRequested(number: number, text: "")) }
                _ = try await bridge.apply([worker("stays")], finishingWithin: patience)
            }
        }
        try await comeAndGo(0..<8)
        let before = CurrentProcess.heapBytesInUse()
        let rounds = rounds(120)
        try await comeAndGo(8..<8 + Int64(rounds))
        var after = CurrentProcess.heapBytesInUse()
        // Links that are starting or ending have buffers of some hundred KiB at either look; an ending link frees them
        // a little later.
        let deadline = MonotonicClock.now() + 60_000_000_000
        while let before, let now = after, (now - before) / rounds >= 12 << 10, MonotonicClock.now() < deadline {
            await Task.yield()
            after = CurrentProcess.heapBytesInUse()
        }
        #expect(bridge.status.map(\.name) == ["stays"])
        #expect(await bridge.shutdown().isComplete)
        guard let before, let after else {
            return CurrentProcess.report("not tested: the heap of a host whose workers go, as nothing counts it here")
        }
        #expect((after - before) / rounds < 12 << 10, "bytes for each that has gone")
    }

    @Test("Many changes under load lose nothing and move nothing", .timeLimit(.minutes(10)))
    func manyChanges() async throws {
        let ledger = Ledger(publisher)
        let bridge = try await bridge([worker("stays"), worker("old.0")])
        let pid = pids(bridge)["stays"]
        let load = Load(publisher)
        let rounds = rounds(10, atLeast: 4)
        for round in 1...rounds {
            try await bridge.apply([worker("stays"), worker("old.\(round)")], finishingWithin: patience)
            await load.goOn()
        }
        let last = try await load.stop()
        for name in ["stays", "old.\(rounds)"] { await ledger.wait(for: last, of: name) }
        #expect(ledger.complaints.isEmpty)
        #expect((0...rounds).flatMap { ledger["old.\($0)"] } == Array(1...last))
        #expect(pids(bridge)["stays"] == pid)
        #expect(bridge.status.map(\.name) == ["stays", "old.\(rounds)"])
        await bridge.shutdown()
    }

    @Test("A pool comes and goes as one: events that share it never lack a member", .timeLimit(.minutes(10)))
    func pool() async throws {
        let ledger = Collected<(number: Int64, worker: String)>()
        let subscription = publisher.subscribe(to: WorkDone.self) {
            ledger.add(($0.number, EventContext.current?.id.origin ?? ""))
        }
        let bridge = try await bridge([worker("goes")])
        let load = Load(publisher)
        await load.goOn()
        var pooled = worker("pool")
        pooled.pool = WorkerPool(2).keyed(WorkRequested.self, byField: "number")
        let changes = try await bridge.apply([pooled], finishingWithin: patience)
        #expect(changes.started == ["pool"] && changes.stopped == ["goes"])
        await load.goOn()
        pooled.child.environment["VARIANT"] = "2"
        #expect(try await bridge.apply([pooled], finishingWithin: patience).replaced == ["pool"])
        await load.goOn()
        #expect(try await bridge.apply([worker("last")], finishingWithin: patience).stopped == ["pool"])
        await load.goOn()
        let last = try await load.stop()
        await ledger.wait { $0.count >= last }
        #expect(ledger.all.map(\.number).sorted() == Array(1...last))
        #expect(Set(ledger.all.map(\.worker)) == ["goes", "pool.1", "pool.2", "last"])
        for name in ["pool.1", "pool.2"] {
            let numbers = ledger.all.filter { $0.worker == name }.map(\.number)
            #expect(numbers == numbers.sorted())
        }
        await bridge.shutdown()
        withExtendedLifetime(subscription) {}
    }

    // MARK: - All or nothing

    @Test(
        "Mistakes, and changes that are not possible, are named all at once, and nothing happens",
        .timeLimit(.minutes(5))
    )
    func mistakes() async throws {
        var pooled = worker("pool")
        pooled.pool = WorkerPool(2)
        let bridge = try await bridge([worker("a"), worker("b"), pooled])
        let before = bridge.status
        var (limited, larger) = (worker("a"), pooled)
        limited.limits.outbox = 1 << 20
        larger.pool = WorkerPool(3)
        var wild = worker("wild")
        (wild.subscribes, wild.publishes) = ([""], ["*"])
        let error = await #expect(throws: BridgeError.self) {
            try await bridge.apply([limited, larger, worker("new"), worker("new"), worker("bad name"), wild])
        }
        #expect(error?.code == .invalidSpecification)
        let sentences = error?.description.split(separator: "\n").map(String.init) ?? []
        for (worker, why) in [
            ("\"a\"", "its limits, but for the deadline of handlers, cannot change"),
            ("\"pool\"", "its pool cannot change"),
            ("\"bad name\"", "a name has 1 to 64"),
            ("\"wild\"", "an event name has 1 to 256 bytes; found 0"), ("\"wild\"", "no event has the name \"*\""),
            ("\"new\"", "is given to more than one child"),
        ] {
            #expect(sentences.contains { $0.contains(worker) && $0.contains(why) }, "\(worker)")
        }
        #expect(bridge.status == before)
        #expect(try await bridge.apply([worker("a"), worker("b"), pooled]).unchanged == ["a", "b", "pool"])
        #expect(bridge.status == before)
        await bridge.shutdown()
    }

    @Test("A name that a process has until it is gone is not given to another", .timeLimit(.minutes(5)))
    func nameInUse() async throws {
        var pooled = worker("pool")
        pooled.pool = WorkerPool(1)
        let bridge = try await bridge([pooled])
        let error = await #expect(throws: BridgeError.self) { try await bridge.apply([worker("pool.1")]) }
        #expect(
            error?.description.contains("a member of the pool \"pool\" has the name \"pool.1\" until it is gone")
                == true
        )
        try await bridge.apply([])
        #expect(bridge.status.isEmpty)
        #expect(try await bridge.apply([worker("pool.1")]).started == ["pool.1"])
        await bridge.shutdown()
    }

    @Test("Before the start and after the end apply is refused", .timeLimit(.minutes(5)))
    func wrongState() async throws {
        let bridge = try BridgeHost(publisher: publisher, workers: [worker("a")])
        let early = await #expect(throws: BridgeError.self) { try await bridge.apply([]) }
        #expect(early?.code == .wrongState)
        try await bridge.start()
        await bridge.shutdown()
        let late = await #expect(throws: BridgeError.self) { try await bridge.apply([]) }
        #expect(late?.code == .wrongState)
    }

    // MARK: - Changes that fail

    @Test(
        "A new worker that does not become ready is named with the reason, and holds up no other change",
        .timeLimit(.minutes(5)),
        arguments: [
            ("missing", "it was given up: "), ("crash-before-hello", "killed by SIGABRT"),
            ("bad-version", "the host speaks version 1"),
        ]
    )
    func newOneFails(misbehaviour: String, reason: String) async throws {
        let bridge = try await bridge([worker("a"), worker("goes")])
        let pid = pids(bridge)["a"]
        var broken = worker("broken", misbehaviour)
        if misbehaviour == "missing" { broken.child.executable = .path("/nonexistent/worker") }
        let changes = try await bridge.apply([worker("a"), broken, worker("b")])
        #expect(changes.started == ["broken", "b"])
        #expect(changes.stopped == ["goes"])
        #expect(changes.failures.map(\.worker) == ["broken"])
        let sentence = changes.failures.first?.description ?? ""
        #expect(sentence.hasPrefix("worker \"broken\" did not become ready: it "), "\(sentence)")
        #expect(sentence.contains(reason), "\(sentence)")
        #expect(pids(bridge)["a"] == pid)
        #expect(bridge.status.first { $0.name == "b" }?.state == .ready)
        await bridge.shutdown()
    }

    @Test(
        "A changed worker whose new process does not come up goes on as it was, and the next call tries it again",
        .timeLimit(.minutes(5))
    )
    func replacementFails() async throws {
        let bridge = try await bridge([worker("a"), worker("b")])
        let before = pids(bridge)
        let wanted = [worker("a", "crash-before-hello"), worker("b", variable: "2")]
        for _ in 1...2 {
            let changes = try await bridge.apply(wanted)
            #expect(changes.failures.map(\.worker) == ["a"])
            #expect(changes.failures.first?.description.contains("killed by SIGABRT") == true)
            #expect(pids(bridge)["a"] == before["a"])
            #expect(pids(bridge)["b"] != before["b"])
        }
        #expect(try await bridge.apply([worker("a"), worker("b", variable: "2")]).unchanged == ["a", "b"])
        await bridge.shutdown()
    }

    @Test(
        "A worker that was given up is started anew when its specification has changed, and only then",
        .timeLimit(.minutes(5))
    )
    func givenUp() async throws {
        var missing = worker("a")
        missing.child.executable = .path("/nonexistent/worker")
        let bridge = try BridgeHost(publisher: publisher, workers: [missing, worker("b")])
        await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(try await bridge.apply([missing, worker("b")]).unchanged == ["a", "b"])
        #expect(try await bridge.apply([worker("a"), worker("b")]).replaced == ["a"])
        for await update in bridge.statusUpdates where update["a"]?.state == .ready { break }
        #expect(bridge.status.first?.state == .ready)
        await bridge.shutdown()
    }

    // MARK: - Events that are left

    @Test(
        "What a worker has not handled when it is gone is kept as dead letters, for one of its name",
        .timeLimit(.minutes(5))
    )
    func leftEvents() async throws {
        let reports = WorkerReports(publisher)
        let killing = ShutdownSequence.draining(grace: .milliseconds(1), terminate: .milliseconds(1))
        let bridge = try await bridge([worker("a"), worker("goes", "hang-on:hang", shutdown: killing)])
        // An event that has not left when the worker is asked to end counts no attempt.
        for number in Int64(1)...3 {
            let before = bridge.statistics[1].sent.bytes
            publisher.publish(WorkRequested(number: number, text: "hang"))
            while bridge.statistics[1].sent.bytes == before { await Task.yield() }
        }
        let changes = try await bridge.apply([worker("a")], finishingWithin: .milliseconds(100))
        #expect(changes.stopped == ["goes"])
        let letters = await reports.deadLettered.wait { $0.count == 3 }
        #expect(letters.allSatisfy { $0.worker == "goes" && $0.cause == .workerUnavailable })
        #expect(letters.map(\.attempts) == [1, 1, 1])
        #expect(letters.allSatisfy { $0.reasons == ["worker \"goes\" was removed"] })
        #expect(bridge.leftovers.allSatisfy { $0.worker != "goes" })
        let refused = #expect(throws: DeliveryError.self) { try bridge.redeliverDeadLetters(of: "goes") }
        #expect(refused?.description.contains("there is no worker \"goes\" any more") == true)
        #expect(bridge.deadLetters.count == 3)
        try await bridge.apply([worker("a"), worker("goes")])
        #expect(try bridge.redeliverDeadLetters(of: "goes") == 3)
        let done = await reports.done.wait { $0.count == 6 }
        #expect(done.filter { $0.attempt == 2 }.map(\.number) == [1, 2, 3])
        await bridge.shutdown()
        reports.end()
    }

    // MARK: - Several, and the end

    @Test(
        "A significant worker that ends by itself before it is asked to, but is removed, does not end the others",
        .timeLimit(.minutes(5))
    )
    func significantOneLeaves() async throws {
        func job(_ name: String, _ misbehaviour: String = "none") -> WorkerSpecification {
            var job = worker(name, misbehaviour)
            (job.child.restart, job.child.isSignificant) = (.temporary, true)
            return job
        }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [job("goes", "hang-on:hang")],
            automaticShutdown: .anySignificant
        )
        try await bridge.start()
        let endings = Collected<BridgeEnding>()
        let subscription = publisher.subscribe(to: BridgeEnding.self) { endings.add($0) }
        let pid = try #require(pids(bridge)["goes"])
        publisher.publish(WorkRequested(number: 1, text: "hang"))
        async let changes = bridge.apply([job("new")], finishingWithin: patience)
        for await update in bridge.statusUpdates where update["new"] != nil { break }
        // When events go by the new list, it is known that the old worker will leave; it is still finishing its event.
        while bridge.statistics.first(where: { $0.worker == "new" })?.sent.offered ?? 0 == 0 {
            publisher.publish(WorkRequested(number: 2, text: ""))
            await Task.yield()
        }
        kill(pid, SIGKILL)
        #expect(try await changes.started == ["new"])
        #expect(bridge.status.map(\.state) == [.ready])
        #expect(endings.all.isEmpty)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test(
        "The second of two calls waits for the first, and is compared with its result",
        .timeLimit(.minutes(5))
    )
    func twoAtOnce() async throws {
        let bridge = try await bridge([worker("a")])
        async let first = bridge.apply([worker("a"), worker("b")])
        async let second = bridge.apply([worker("a"), worker("b")])
        let both = try await [first, second]
        #expect(both.map(\.started).sorted { $0.count < $1.count } == [[], ["b"]])
        #expect(both.contains { $0.unchanged == ["a", "b"] })
        #expect(bridge.status.map(\.starts) == [1, 1])
        await bridge.shutdown()
    }

    @Test("Workers that are removed together go when all of them are quiet", .timeLimit(.minutes(5)))
    func removedTogether() async throws {
        let (gate, begun) = (ErrandGate(), Collected<Int>())
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("idle", subscribes: [ErrandReport.self]) { publisher in
                    [publisher.subscribe(to: ErrandReport.self) { _ in }]
                },
                InMemoryWorker("busy", subscribes: [ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { errand in
                            begun.add(errand.number)
                            await gate.pass()
                        }
                    ]
                },
            ]
        )
        publisher.publish(ErrandGiven(number: 1))
        await begun.wait(for: 1)
        async let changes = bridge.apply([])
        for await names in publisher.wantedEventNames where !names.contains(ErrandGiven.eventName) { break }
        // From now on the idle worker would go, if it waited for nothing.
        try await Task.sleep(for: .milliseconds(50))
        #expect(bridge.status.map(\.state) == [.ready, .ready])
        gate.open()
        #expect(try await changes.stopped == ["idle", "busy"])
        #expect(bridge.deadLetters.isEmpty)
        await bridge.shutdown()
    }

    @Test("A shutdown comes first: what it overtakes is named, and nothing is left running", .timeLimit(.minutes(5)))
    func shutdownMeanwhile() async throws {
        let bridge = try await bridge([worker("a")])
        let applying = Task { try await bridge.apply([worker("a"), worker("silent", "no-hello")]) }
        for await update in bridge.statusUpdates where update["silent"]?.pid != nil { break }
        await bridge.shutdown(drainingWithin: .zero)
        let changes = try await applying.value
        #expect(changes.failures.map(\.worker) == ["silent"])
        #expect(bridge.status.allSatisfy { $0.state == .stopped && $0.pid == nil })
    }

    @Test("Subscribers to the states see which workers come and go", .timeLimit(.minutes(5)))
    func statusUpdates() async throws {
        let bridge = try await bridge([worker("a"), worker("goes")])
        let updates = Collected<WorkerStatusUpdate>()
        let subscription = bridge.subscribeToStatus { updates.add($0) }
        try await bridge.apply([worker("a"), worker("new")])
        let gone = try #require(updates.all.first { $0["goes"] == nil })
        #expect(gone.changed?.name == "goes" && gone.changed?.state == .stopped)
        let come = try #require(updates.all.first { $0["new"] != nil })
        #expect(come.changed?.name == "new" && come.changed?.state == .notStarted)
        #expect(updates.all.last?.workers.map(\.name) == ["a", "new"])
        await bridge.shutdown()
        withExtendedLifetime(subscription) {}
    }
}
