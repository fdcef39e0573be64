import BridgePlatform
import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import Locks
import Supervision
import TestSupport
import Testing

@Suite("Replacing a worker's process while events flow", .serialized)
struct ReplacementTests {
    private let publisher = EventPublisher()

    /// Goes on publishing from a task of its own, as fast as there is room, until it is stopped.
    private final class Load: Sendable {
        private let isOver = Collected<Void>()
        private let task: Task<Int64, any Error>

        init(_ publisher: EventPublisher) {
            task = Task { [isOver] in
                var number: Int64 = 0
                while isOver.all.isEmpty {
                    number += 1
                    try await publisher.send(WorkRequested(number: number, text: ""))
                }
                return number
            }
        }

        /// - Returns: The number of the last event.
        func stop() async throws -> Int64 {
            isOver.add(())
            return try await task.value
        }
    }

    /// Checks the events as they come: each number once, in order, at the first attempt.
    private final class Ledger: Sendable {
        let last = Collected<Int64>()
        private let entries = Entries()
        private let subscription: Subscription

        private final class Entries: @unchecked Sendable {
            // Sendable: guarded by `lock`.
            let lock = Lock()
            var count: Int64 = 0
            var mistakes: [WorkDone] = []
            var awaited: Int64 = .max
        }

        init(_ publisher: EventPublisher) {
            subscription = publisher.subscribe(to: WorkDone.self) { [entries, last] done in
                let isLast = entries.lock.withLock {
                    if done.number != entries.count + 1 || done.attempt != 1 { entries.mistakes.append(done) }
                    entries.count = max(entries.count, done.number)
                    return entries.count >= entries.awaited
                }
                if isLast { last.add(done.number) }
            }
        }

        /// Returns when the event of this number has come.
        func wait(for number: Int64) async {
            let isThere = entries.lock.withLock {
                entries.awaited = number
                return entries.count >= number
            }
            if !isThere { await last.wait { !$0.isEmpty } }
        }

        var count: Int64 { entries.lock.withLock { entries.count } }
        var mistakes: [WorkDone] { entries.lock.withLock { entries.mistakes } }
    }

    /// Waits until a worker's status is as wanted.
    @discardableResult
    private func status(
        of bridge: BridgeHost,
        _ worker: String = "faulty",
        where isMet: (WorkerStatus) -> Bool
    ) async throws -> WorkerStatus {
        for await update in bridge.statusUpdates {
            if let status = update[worker], isMet(status) { return status }
        }
        throw NeverSeen()
    }

    private struct NeverSeen: Error {}

    @Test(
        "Fifty replacements under load: each event is handled once, in order, at the first attempt, and all answers arrive",
        .timeLimit(.minutes(10))
    )
    func fiftyReplacements() async throws {
        let rounds = rounds(50)
        let ledger = Ledger(publisher)
        let replaced = Collected<WorkerReplaced>()
        let exits = Collected<WorkerExited>()
        let ready = Collected<WorkerReady>()
        let subscriptions = [
            publisher.subscribe(to: WorkerReplaced.self) { replaced.add($0) },
            publisher.subscribe(to: WorkerExited.self) { exits.add($0) },
            publisher.subscribe(to: WorkerReady.self) { ready.add($0) },
        ]
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [WorkRequested.self])])
        try await bridge.start()
        var pids = try [#require(bridge.status.first?.pid)]
        let load = Load(publisher)
        for round in 1...rounds {
            try await bridge.replace("faulty", handingOverWithin: patience)
            let status = try #require(bridge.status.first)
            #expect(status.state == .ready)
            #expect(status.starts == round + 1)
            #expect(status.restarts == 0)
            pids.append(try #require(status.pid))
        }
        let last = try await load.stop()
        await ledger.wait(for: last)
        #expect(ledger.count == last)
        #expect(ledger.mistakes.isEmpty)
        #expect(Set(pids).count == rounds + 1)
        #expect(replaced.all.map(\.oldPID) == pids.dropLast())
        #expect(replaced.all.map(\.newPID) == Array(pids.dropFirst()))
        #expect(exits.all.map(\.pid) == pids.dropLast())
        #expect(ready.all.map(\.pid) == pids)
        #expect(exits.all.allSatisfy { $0.wasAsked && $0.reason == "exited with status 0" && $0.next == "ready" })
        await bridge.waitUntilIdle()
        let statistics = try #require(bridge.statistics.first)
        #expect(statistics.sent.isBalanced)
        #expect(statistics.sent.handled == UInt64(last))
        let report = await bridge.shutdown()
        #expect(report.isComplete)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test(
        "A new process that does not become ready is ended, the reason is thrown, and the old one goes on untouched",
        .timeLimit(.minutes(5)),
        arguments: [
            ("no-hello", "was not ready"), ("bad-version", "the host speaks version 1"),
            ("exit-early", "exited with status 0"), ("crash-before-hello", "killed by SIGABRT"),
            ("garbage", "broke the protocol"), ("missing", "ENOENT"),
        ]
    )
    func newProcessNeverReady(misbehaviour: String, reason: String) async throws {
        let ledger = Ledger(publisher)
        let notReplaced = Collected<WorkerNotReplaced>()
        let exits = Collected<WorkerExited>()
        let subscriptions = [
            publisher.subscribe(to: WorkerNotReplaced.self) { notReplaced.add($0) },
            publisher.subscribe(to: WorkerExited.self) { exits.add($0) },
        ]
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [WorkRequested.self])])
        try await bridge.start()
        let before = try #require(bridge.status.first)
        let load = Load(publisher)
        var other = faulty(
            misbehaviour,
            handshakeTimeout: misbehaviour == "no-hello" ? .milliseconds(200) : patience,
            subscribes: [WorkRequested.self]
        )
        if misbehaviour == "missing" { other.child.executable = .path("/nonexistent/worker") }
        let error = await #expect(throws: BridgeError.self) { try await bridge.replace("faulty", with: other) }
        #expect(error?.code == .notReplaced)
        #expect(error?.worker == "faulty")
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        #expect(bridge.status.first == before)
        #expect(notReplaced.all.count == 1)
        #expect(exits.all.isEmpty)
        let last = try await load.stop()
        await ledger.wait(for: last)
        #expect(ledger.mistakes.isEmpty)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test(
        "A process that does not finish in time is ended by its signals, and what it had comes again without a strike",
        .timeLimit(.minutes(5))
    )
    func oldProcessDoesNotDrain() async throws {
        let reports = WorkerReports(publisher)
        let hanging = faulty(
            "hang-on:hang",
            shutdown: .draining(grace: patience, terminate: .milliseconds(1)),
            subscribes: [WorkRequested.self],
            limits: WorkerLimits(strikes: 1)
        )
        let bridge = try BridgeHost(publisher: publisher, workers: [hanging])
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: "hang"))
        let other = faulty("none", subscribes: [WorkRequested.self], limits: WorkerLimits(strikes: 1))
        // The worker drains for a moment only, so this begins to look before that.
        var updates = bridge.statusUpdates.makeAsyncIterator()
        let replacing = Task {
            try await bridge.replace("faulty", with: other, handingOverWithin: .milliseconds(50))
        }
        while let update = await updates.next(), update["faulty"]?.state != .draining {}
        publisher.publish(WorkRequested(number: 2, text: "hang"))
        try await replacing.value
        let done = await reports.done.wait { $0.count == 2 }
        #expect(done.map(\.number) == [1, 2])
        #expect(done.map(\.attempt) == [2, 1])
        #expect(reports.exits.all.map(\.wasAsked) == [true])
        #expect(reports.deadLettered.all.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test("A process that is killed while it hands over has its events handled by the new one", .timeLimit(.minutes(5)))
    func oldProcessKilled() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("hang-on:hang", subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: "hang"))
        let replacing = Task {
            try await bridge.replace(
                "faulty",
                with: faulty("none", subscribes: [WorkRequested.self]),
                handingOverWithin: patience
            )
        }
        let handing = try await status(of: bridge) { $0.state == .draining }
        #expect(handing.replacement?.isReady == true)
        publisher.publish(WorkRequested(number: 2, text: ""))
        #expect(ProcessSignal.kill(try #require(handing.pid)))
        try await replacing.value
        let done = await reports.done.wait { $0.count == 2 }
        #expect(done.map(\.number) == [1, 2])
        #expect(done.map(\.attempt) == [2, 1])
        #expect(bridge.status.first?.pid == handing.replacement?.pid)
        #expect(reports.exits.all.map(\.pid) == [handing.pid])
        #expect(reports.exits.all.map(\.next) == ["ready"])
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "A new process that is killed before it takes over: that is thrown, and its events go to the next start, by the new specification",
        .timeLimit(.minutes(5))
    )
    func newProcessKilledBeforeTheSwitch() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("hang-on:hang", subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: "hang"))
        let replacing = Task {
            try await bridge.replace(
                "faulty",
                with: faulty("none", subscribes: [WorkRequested.self]),
                handingOverWithin: patience
            )
        }
        let handing = try await status(of: bridge) { $0.state == .draining }
        publisher.publish(WorkRequested(number: 2, text: ""))
        #expect(ProcessSignal.kill(try #require(handing.replacement?.pid)))
        let error = await #expect(throws: BridgeError.self) { try await replacing.value }
        #expect(error?.description.contains("ended before it took over: killed by SIGKILL (9)") == true)
        #expect(ProcessSignal.kill(try #require(handing.pid)))
        let done = await reports.done.wait { $0.count == 2 }
        #expect(done.map(\.number) == [1, 2])
        #expect(done.map(\.attempt) == [2, 1])
        #expect(bridge.status.first?.starts == 3)
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "A new process that is killed as soon as it has taken over is started again by the new specification, and nothing is lost",
        .timeLimit(.minutes(5))
    )
    func newProcessKilledAfterTheSwitch() async throws {
        let reports = WorkerReports(publisher)
        let subscription = publisher.subscribe(to: WorkerReplaced.self) { _ = ProcessSignal.kill($0.newPID) }
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [WorkRequested.self])])
        try await bridge.start()
        let load = Load(publisher)
        await reports.done.wait { !$0.isEmpty }
        // Only the other worker throws over this event, so the answer shows which of the two runs.
        let other = faulty("throw-on:which", subscribes: [WorkRequested.self])
        try await bridge.replace("faulty", with: other, handingOverWithin: patience)
        await reports.ready.wait { $0.count == 3 }
        let last = try await load.stop()
        let done = await reports.done.wait { $0.last?.number == last }
        var seen: Set<Int64> = []
        #expect(done.map(\.number).filter { seen.insert($0).inserted } == Array(1...last))
        for again in Dictionary(grouping: done, by: \.number).values where again.count > 1 {
            #expect(again.map(\.attempt) == [1, 2])
        }
        #expect(reports.exits.all.map(\.reason) == ["exited with status 0", "killed by SIGKILL (9)"])
        let refused = Collected<EventRefused>()
        let refusals = publisher.subscribe(to: EventRefused.self) { refused.add($0) }
        publisher.publish(WorkRequested(number: last + 1, text: "which"))
        await refused.wait { !$0.isEmpty }
        await bridge.shutdown()
        subscription.cancel()
        refusals.cancel()
        reports.end()
    }

    @Test("A shutdown in the middle ends both processes, and the replacement says so", .timeLimit(.minutes(5)))
    func shutdownInTheMiddle() async throws {
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [WorkRequested.self])])
        try await bridge.start()
        let replacing = Task {
            try await bridge.replace("faulty", with: faulty("no-hello", subscribes: [WorkRequested.self]))
        }
        let both = try await status(of: bridge) { $0.replacement?.pid != nil }
        #expect(both.state == .ready)
        let report = await bridge.shutdown()
        #expect(report.isComplete)
        let error = await #expect(throws: BridgeError.self) { try await replacing.value }
        #expect(error?.description == "worker \"faulty\" was not replaced: all are being stopped")
        #expect(bridge.status.map(\.state) == [.stopped])
        #expect(bridge.status.first?.replacement == nil)
        let late = await #expect(throws: BridgeError.self) { try await bridge.replace("faulty") }
        #expect(late?.code == .notReplaced)
    }

    @Test(
        "Cancelling the task ends the new process, and a second request is refused meanwhile",
        .timeLimit(.minutes(5))
    )
    func cancelled() async throws {
        let ledger = Ledger(publisher)
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [WorkRequested.self])])
        try await bridge.start()
        let before = try #require(bridge.status.first)
        let replacing = Task {
            try await bridge.replace("faulty", with: faulty("no-hello", subscribes: [WorkRequested.self]))
        }
        try await status(of: bridge) { $0.replacement?.pid != nil }
        let second = await #expect(throws: BridgeError.self) { try await bridge.replace("faulty") }
        #expect(second?.description == "worker \"faulty\" was not replaced: it is being replaced already")
        replacing.cancel()
        let error = await #expect(throws: BridgeError.self) { try await replacing.value }
        #expect(error?.description == "worker \"faulty\" was not replaced: it was called off")
        #expect(bridge.status.first == before)
        publisher.publish(WorkRequested(number: 1, text: ""))
        await ledger.wait(for: 1)
        let never = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await bridge.replace("faulty", with: faulty("no-hello", subscribes: [WorkRequested.self]))
        }
        await #expect(throws: BridgeError.self) { try await never.value }
        await bridge.shutdown()
    }

    @Test("A pool's members are replaced one after the other, and keys keep their order", .timeLimit(.minutes(5)))
    func pool() async throws {
        let replaced = Collected<WorkerReplaced>()
        let done = Collected<WorkDone>()
        let subscriptions = [
            publisher.subscribe(to: WorkerReplaced.self) { replaced.add($0) },
            publisher.subscribe(to: WorkDone.self) { done.add($0) },
        ]
        var specification = faulty("none", name: "pool", subscribes: [WorkRequested.self])
        specification.pool = WorkerPool(3).keyed(WorkRequested.self, byField: "text")
        let bridge = try BridgeHost(publisher: publisher, workers: [specification])
        try await bridge.start()
        let isOver = Collected<Void>()
        let publishing = Task { [publisher] in
            var number: Int64 = 0
            while isOver.all.isEmpty {
                number += 1
                try await publisher.send(WorkRequested(number: number, text: "\(number % 7)"))
            }
            return number
        }
        try await bridge.replace("pool", handingOverWithin: patience)
        try await bridge.replace("pool.2", handingOverWithin: patience)
        isOver.add(())
        let count = try await publishing.value
        let all = await done.wait { $0.count == count }
        #expect(replaced.all.map(\.worker) == ["pool.1", "pool.2", "pool.3", "pool.2"])
        #expect(all.allSatisfy { $0.attempt == 1 })
        for events in Dictionary(grouping: all, by: \.text).values {
            #expect(events.map(\.number) == events.map(\.number).sorted())
        }
        #expect(Set(all.map(\.number)).count == Int(count))
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("Of a worker that is down only the specification is exchanged", .timeLimit(.minutes(5)))
    func exchanged() async throws {
        let reports = WorkerReports(publisher)
        var sleeping = faulty("crash-on:work", subscribes: [WorkRequested.self])
        sleeping.child.onDemand = OnDemand(idleTime: .seconds(3_600))
        let bridge = try BridgeHost(publisher: publisher, workers: [sleeping])
        try await bridge.start()
        var other = faulty("none", subscribes: [WorkRequested.self])
        other.child.onDemand = sleeping.child.onDemand
        try await bridge.replace("faulty", with: other)
        #expect(bridge.status.map(\.state) == [.dormant])
        #expect(bridge.status.map(\.starts) == [0])
        publisher.publish(WorkRequested(number: 1, text: "work"))
        #expect(await reports.done.wait { !$0.isEmpty }.map(\.attempt) == [1])
        #expect(reports.exits.all.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test("What a specification must not change is refused before anything is started", .timeLimit(.minutes(5)))
    func mistakes() async throws {
        let plain = faulty("none", subscribes: [WorkRequested.self])
        var pooled = faulty("none", name: "pool", subscribes: [WorkRequested.self])
        pooled.pool = WorkerPool(2)
        let bridge = try BridgeHost(publisher: publisher, workers: [plain, pooled])
        try await bridge.start()
        func refusal(
            _ worker: String,
            _ specification: WorkerSpecification? = nil,
            within limit: Duration = .seconds(1),
            _ change: (inout WorkerSpecification) -> Void = { _ in }
        ) async -> String {
            var changed = specification
            if var found = specification {
                change(&found)
                changed = found
            }
            do throws(BridgeError) {
                try await bridge.replace(worker, with: changed, handingOverWithin: limit)
                return "replaced"
            } catch {
                #expect(error.code == .invalidSpecification)
                return error.description
            }
        }
        #expect(await refusal("nobody") == "there is no worker \"nobody\"")
        #expect(await refusal("faulty", within: .seconds(-1)).contains("the time to hand over within is -1 s"))
        #expect(
            await refusal("faulty", pooled)
                == """
                worker "faulty": it cannot be replaced by one of another name, "pool"
                worker "faulty": its pool cannot change while the bridge runs
                """
        )
        #expect(await refusal("pool", pooled) { $0.pool = WorkerPool(3) }.contains("its pool cannot change"))
        let member = faulty("none", name: "pool.2", subscribes: [WorkRequested.self])
        #expect(
            await refusal("pool.2", member) { $0.subscribes = [] }
                == """
                worker "pool.2": it is one member of a pool, so the events that it subscribes to can change only \
                with the whole pool
                """
        )
        #expect(await refusal("faulty", plain) { $0.limits.outbox = 2_048 }.contains("its limits"))
        #expect(await refusal("faulty", plain) { $0.child.onDemand = OnDemand() }.contains("on demand cannot change"))
        #expect(
            await refusal("faulty", plain) {
                $0.child.isSignificant = true
                $0.child.restart = .transient
            } == "worker \"faulty\": whether it is significant cannot change while the bridge runs"
        )
        #expect(await refusal("faulty", plain) { $0.child.arguments = ["\0"] }.contains("argument 1 contains a NUL"))
        #expect(bridge.status.map(\.starts) == [1, 1, 1])
        await bridge.shutdown()
    }

    @Test(
        "A new process that publishes and delivers before it takes over is heard, and hears what became of it",
        .timeLimit(.minutes(5))
    )
    func newProcessPublishesBeforeTheSwitch() async throws {
        let receipts = Collected<[String: Int]>()
        let seen = Collected<Int>()
        let gate = ErrandGate()
        let begun = Collected<Int>()
        let busy = InMemoryWorker("busy", subscribes: [ErrandGiven.self]) { publisher in
            let receipt = try await publisher.deliver(ErrandDone(number: 7), within: patience)
            receipts.add(receipt.handlers)
            return [
                publisher.subscribe(to: ErrandGiven.self) { errand async in
                    begun.add(errand.number)
                    if errand.number == 1 { await gate.pass() }
                    seen.add(errand.number)
                }
            ]
        }
        let other = InMemoryWorker("other", subscribes: [ErrandDone.self]) { publisher in
            [publisher.subscribe(to: ErrandDone.self) { _ in }]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [other, busy])
        publisher.publish(ErrandGiven(number: 1))
        await begun.wait { $0 == [1] }
        let replacing = Task { try await bridge.replace("busy", handingOverWithin: patience) }
        try await status(of: bridge, "busy") { $0.state == .draining }
        #expect(receipts.all == [["other": 1], ["other": 1]])
        for number in 2...4 { publisher.publish(ErrandGiven(number: number)) }
        #expect(begun.all == [1], "the new process has nothing before the old one has ended")
        gate.open()
        try await replacing.value
        await seen.wait { $0.count == 4 }
        #expect(seen.all == [1, 2, 3, 4])
        await bridge.shutdown()
    }
}
