import BridgePlatform
import DomainEvents
import EventBridge
import ExampleDomain
import FoundationEssentials
import Supervision
import TestSupport
import Testing

/// What `docs/reference/delivery.md` promises, kept with a worker in Python that speaks in lines.
@Suite("Workers that speak in lines", .serialized, .timeLimit(.minutes(5)))
struct LinesWorkerTests {
    private let publisher = EventPublisher()

    private static func program(_ name: String) -> String {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        return here.deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/python-worker/\(name).py").path
    }

    // Python then leaves no compiled copy of an import beside the program.
    private static let environment = ["PYTHONDONTWRITEBYTECODE": "1"]

    private func worker(
        _ misbehaviour: String = "",
        restart: RestartType = .permanent,
        heartbeat: Heartbeat = Heartbeat(every: .seconds(60)),
        shutdown: ShutdownSequence = .draining(grace: patience, terminate: patience),
        limits: WorkerLimits = WorkerLimits()
    ) -> WorkerSpecification {
        WorkerSpecification(
            "python",
            executable: .path(Self.program("faulty")),
            arguments: [misbehaviour],
            environment: Self.environment,
            subscribes: [WorkRequested.self],
            publishes: [WorkDone.self],
            restart: restart,
            backoff: .exponential(from: .milliseconds(10), to: .milliseconds(100)),
            handshakeTimeout: patience,
            heartbeat: heartbeat,
            shutdown: shutdown,
            limits: limits
        )
    }

    private func bridge(_ worker: WorkerSpecification, restarts: Int = 100) throws -> BridgeHost {
        try BridgeHost(
            publisher: publisher,
            workers: [worker],
            intensity: RestartIntensity(restarts: restarts, within: .seconds(3_600))
        )
    }

    private func publish(_ numbers: ClosedRange<Int64>, _ text: (Int64) -> String = { _ in "" }) {
        for number in numbers { publisher.publish(WorkRequested(number: number, text: text(number))) }
    }

    /// Each number once, in the order in which they came first.
    private func firsts(_ answers: [WorkDone]) -> [Int64] {
        var seen: Set<Int64> = []
        return answers.map(\.number).filter { seen.insert($0).inserted }
    }

    @Test("events and answers pass in order, all of them are accounted for, and at shutdown the worker says goodbye")
    func orderly() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker())
        try await bridge.start()
        publish(1...2_000)
        await bridge.waitUntilIdle()
        #expect(reports.done.all.map(\.number) == Array(1...2_000))
        #expect(reports.done.all.allSatisfy { $0.attempt == 1 })
        let books = try #require(bridge.statistics.first)
        #expect(books.sent.handled == 2_000 && books.sent.isBalanced && books.sent.waiting == 0)
        #expect(books.received.handled == 2_000 && books.received.isBalanced)
        #expect(await bridge.shutdown().isComplete)
        #expect(reports.exits.all.map(\.reason) == ["exited with status 0"])
        reports.end()
    }

    @Test("what the worker published is caused by what it handled, and answers a request")
    func causes() async throws {
        let bridge = try bridge(worker())
        try await bridge.start()
        let answer = try await publisher.request(
            WorkRequested(number: 7, text: "é\n\"\u{1F600}"),
            awaiting: WorkDone.self,
            within: patience
        )
        #expect(answer.number == 7 && answer.text == "é\n\"\u{1F600}" && answer.attempt == 1)
        let receipt = try await publisher.deliver(WorkRequested(number: 8, text: ""), within: patience)
        #expect(receipt.handlers["python"] == 1)
        await bridge.shutdown()
    }

    @Test("N3, A2: killed again and again, it loses nothing and sees nothing out of order")
    func kills() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker())
        try await bridge.start()
        for round in 1...10 {
            await reports.ready.wait { $0.count == round }
            publish(Int64(round * 200 - 199)...Int64(round * 200))
            await reports.done.wait { $0.count >= round * 200 - 150 }
            #expect(ProcessSignal.kill(try #require(reports.ready.all.last?.pid)))
            await reports.exits.wait { $0.count == round }
        }
        await reports.done.wait { Set($0.map(\.number)).count == 2_000 }
        await bridge.waitUntilIdle()
        #expect(firsts(reports.done.all) == Array(1...2_000))
        // An event that came twice was handled by a process that died before it had acknowledged it.
        let repeated = Dictionary(grouping: reports.done.all, by: \.number).values.filter { $0.count > 1 }
        #expect(repeated.allSatisfy { answers in Set(answers.map(\.attempt)).count == answers.count })
        #expect(bridge.deadLetters.isEmpty)
        #expect(bridge.statistics.first?.sent.isBalanced == true)
        #expect(await bridge.shutdown().isComplete)
        reports.end()
    }

    @Test("A2: an event that the worker died over comes again before newer ones, as attempt 2")
    func redelivered() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker())
        try await bridge.start()
        publish(1...50) { $0 == 20 ? "poison once" : "" }
        await reports.done.wait { Set($0.map(\.number)).count == 50 }
        await bridge.waitUntilIdle()
        #expect(firsts(reports.done.all) == Array(1...50))
        #expect(reports.done.all.filter { $0.number == 20 }.map(\.attempt) == [2])
        await bridge.shutdown()
        reports.end()
    }

    @Test("an answer that was written before the kill arrives, and again with the repeated event")
    func diesAfterAnswer() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker(limits: WorkerLimits(strikes: 2)))
        try await bridge.start()
        publish(1...1) { _ in "die after answer" }
        await reports.deadLettered.wait { $0.count == 1 }
        #expect(reports.done.all.map(\.attempt) == [1, 2])
        await bridge.shutdown()
        reports.end()
    }

    @Test("A4: an event that kills every worker is dead-lettered after three strikes, the others flow on in order")
    func poison() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker(), restarts: 2)
        try await bridge.start()
        publish(1...40) { $0 == 10 ? "poison" : "" }
        await reports.done.wait { Set($0.map(\.number)).count == 39 }
        await bridge.waitUntilIdle()
        #expect(firsts(reports.done.all) == (1...40).filter { $0 != 10 })
        let letters = bridge.deadLetters
        #expect(letters.count == 1)
        #expect(letters.first?.strikes == 3 && letters.first?.cause == .crashes)
        await bridge.shutdown()
        reports.end()
    }

    @Test("an event that the worker refuses is a dead letter with its words, and the others flow on")
    func refused() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker())
        try await bridge.start()
        publish(1...20) { $0 == 10 ? "refuse" : "" }
        await bridge.waitUntilIdle()
        #expect(reports.done.all.map(\.number) == (1...20).filter { $0 != 10 })
        let letter = try #require(bridge.deadLetters.first)
        #expect(letter.cause != .crashes && letter.reasons.contains { $0.contains("it was asked to refuse") })
        #expect(bridge.statistics.first?.sent.refused == 1)
        await bridge.shutdown()
        reports.end()
    }

    @Test("N3: all that a worker has written before its end arrives, and nothing is said to be lost")
    func burst() async throws {
        let reports = WorkerReports(publisher)
        let losses = Collected<EventsLost>()
        let subscription = publisher.subscribe(to: EventsLost.self) { losses.add($0) }
        let bridge = try bridge(worker(restart: .temporary))
        try await bridge.start()
        // Several windows of events.
        let count = Int64(rounds(20_000, atLeast: 10_000))
        publish(count...count) { _ in "burst" }
        await reports.exits.wait { $0.count == 1 }
        #expect(reports.done.all.map(\.number) == Array(1...count))
        #expect(losses.all.isEmpty)
        await bridge.shutdown()
        subscription.cancel()
        reports.end()
    }

    @Test("one that floods a worker that answers, and only then acknowledges, does not bring both to a standstill")
    func floodsBeforeAcknowledging() async throws {
        let reports = WorkerReports(publisher)
        // More than the answering worker's window, its backlog, and what the host reads of the flood before it stops.
        let count: Int64 = 6_000
        let flooding = WorkerSpecification(
            "flooding",
            executable: .path(Self.program("flooding")),
            arguments: ["\(count)"],
            environment: Self.environment,
            subscribes: [WorkDone.self],
            publishes: [WorkRequested.self],
            handshakeTimeout: patience,
            heartbeat: Heartbeat(every: .seconds(60)),
            shutdown: .draining(grace: patience, terminate: patience),
            limits: WorkerLimits(outbox: 4 << 10, outboxHardLimit: 64 << 10)
        )
        let answering = faulty("none", subscribes: [WorkRequested.self], limits: WorkerLimits(outbox: 4 << 10))
        let bridge = try BridgeHost(publisher: publisher, workers: [answering, flooding])
        try await bridge.start()
        await reports.done.wait { $0.count == count }
        #expect(reports.done.all.map(\.number) == Array(1...count))
        await bridge.waitUntilIdle()
        #expect(reports.dropped.all.isEmpty && reports.exits.all.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test("one that acknowledges nothing gets each event at most once, counted as unconfirmed")
    func acknowledgesNothing() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker("acknowledge-nothing"))
        try await bridge.start()
        // A delivery does not wait for an acknowledgement that will never come.
        let handled = publisher.subscribe(to: WorkRequested.self) { _ in }
        let receipt = try await publisher.deliver(WorkRequested(number: 0, text: ""), within: patience)
        #expect(receipt.handlers.filter { $0.value > 0 } == ["host": 1])
        handled.cancel()
        publish(1...50) { $0 == 20 ? "poison" : "" }
        await reports.exits.wait { $0.count == 1 }
        await reports.ready.wait { $0.count == 2 }
        publish(51...60)
        await reports.done.wait { $0.last?.number == 60 }
        let numbers = reports.done.all.map(\.number)
        #expect(Set(numbers).count == numbers.count && numbers == numbers.sorted())
        #expect(numbers.prefix(20) == Array(0...19)[...] && !numbers.contains(20))
        #expect(reports.done.all.allSatisfy { $0.attempt == 1 })
        // The thread that wrote the last event may count it after the worker's answer has come.
        await bridge.waitUntilIdle()
        let books = try #require(bridge.statistics.first?.sent)
        #expect(books.unconfirmed == 61 && books.handled == 0 && books.isBalanced)
        #expect(bridge.deadLetters.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "one that breaks the protocol is named, stopped and started again",
        arguments: [
            (
                #"line {"type":"WorkDone","#,
                #"broke the protocol: a line of 19 bytes is not JSON: byte 19: found the end of the text"#
            ),
            ("long", "broke the protocol: a line of more than 65536 bytes arrived; the limit is 65536 bytes"),
        ]
    )
    func violations(text: String, reason: String) async throws {
        let reports = WorkerReports(publisher)
        let shutdown = ShutdownSequence.draining(grace: .seconds(1), terminate: .seconds(1))
        let bridge = try bridge(worker(shutdown: shutdown, limits: WorkerLimits(frame: 64 << 10)))
        try await bridge.start()
        publish(1...3) { $0 == 2 ? text : "" }
        let exit = try #require(await reports.exits.wait { !$0.isEmpty }.first)
        #expect(exit.worker == "python" && exit.reason.hasPrefix(reason), "\(exit.reason)")
        await reports.ready.wait { $0.count >= 2 }
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "A4: an event that makes every worker break the protocol is dead-lettered after three strikes",
        arguments: [
            (#"{"type":"WorkDone","data":{"number":NaN}}"#, "found NaN, expected a finite number"),
            (#"{"type":"WorkDone","data":{"number":18446744073709551616}}"#, "number out of range"),
            (#"{"type":"Other"}"#, #"it published "Other", which its hello does not name"#),
            (#"{"bridge":"pong"}"#, "expected the name of a message"),
        ]
    )
    func poisonousLine(line: String, found: String) async throws {
        let reports = WorkerReports(publisher)
        let outcomes = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: EventDeadLettered.self) { _ in outcomes.add("dead-lettered") },
            publisher.subscribe(to: WorkerGaveUp.self) { outcomes.add("given up: \($0.reason)") },
        ]
        // If events waited behind this one, the host does not know which event led to the first violation, so that
        // one counts. The strikes do not.
        let bridge = try bridge(worker(), restarts: 1)
        try await bridge.start()
        publish(1...40) { $0 == 10 ? "line \(line)" : "" }
        let outcome = await outcomes.wait { !$0.isEmpty }
        #expect(outcome == ["dead-lettered"])
        await bridge.waitUntilIdle()
        #expect(firsts(reports.done.all) == (1...40).filter { $0 != 10 })
        let letters = bridge.deadLetters
        #expect(letters.map(\.cause) == [.crashes] && letters.map(\.strikes) == [3])
        let reasons = letters.flatMap(\.reasons)
        #expect(reasons.count == 3)
        #expect(reasons.allSatisfy { $0.hasPrefix("broke the protocol: ") && $0.contains(found) }, "\(reasons)")
        #expect(bridge.status.first?.state == .ready)
        let books = try #require(bridge.statistics.first)
        #expect(books.violations == reports.exits.all.count && (3...4).contains(books.violations))
        #expect(books.sent.isBalanced)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
        reports.end()
    }

    @Test("A4: an event over which every worker breaks off with a goodbye is dead-lettered after three strikes")
    func breaksOff() async throws {
        let reports = WorkerReports(publisher)
        let outcomes = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: EventDeadLettered.self) { _ in outcomes.add("dead-lettered") },
            publisher.subscribe(to: WorkerGaveUp.self) { outcomes.add("given up: \($0.reason)") },
        ]
        // As above: the first end counts if events waited behind this one.
        let bridge = try bridge(worker(), restarts: 1)
        try await bridge.start()
        publish(1...40) { $0 == 10 ? "break off" : "" }
        let outcome = await outcomes.wait { !$0.isEmpty }
        #expect(outcome == ["dead-lettered"])
        await bridge.waitUntilIdle()
        #expect(firsts(reports.done.all) == (1...40).filter { $0 != 10 })
        #expect(bridge.deadLetters.map(\.cause) == [.crashes] && bridge.deadLetters.map(\.strikes) == [3])
        #expect(reports.exits.all.allSatisfy { $0.reason == "exited with status 1" })
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
        reports.end()
    }

    @Test("the sample refuses an event whose answer JSON cannot say, in a sentence, and lives on")
    func unwritable() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker())
        try await bridge.start()
        publish(1...20) { $0 == 10 ? "no number" : "" }
        await reports.done.wait { $0.last?.number == 20 }
        await bridge.waitUntilIdle()
        #expect(reports.done.all.map(\.number) == (1...20).filter { $0 != 10 })
        let letter = try #require(bridge.deadLetters.first)
        #expect(letter.cause == .refused && letter.reasons.contains { $0.contains("not JSON compliant") })
        #expect(reports.exits.all.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test("one with a wrong cookie is rejected")
    func wrongCookie() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker("wrong-cookie", restart: .temporary))
        try? await bridge.start()
        await reports.gaveUp.wait { !$0.isEmpty }
        #expect(reports.gaveUp.all.first?.reason.contains("cookie") == true)
        #expect(bridge.statistics.map(\.violations) == [0])
        await bridge.shutdown()
        reports.end()
    }

    @Test("silence is no fault of one that speaks in lines")
    func silence() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker(heartbeat: Heartbeat(every: .milliseconds(10), tolerance: 1)))
        try await bridge.start()
        let busy = Collected<Int>()
        let poller = try Poller(name: "test")
        // Fifty times as long as a worker with heartbeats may be silent.
        poller.schedule(after: 500_000_000) { busy.add(1) }
        await busy.wait { !$0.isEmpty }
        poller.stop()
        publish(1...1)
        await reports.done.wait { $0.count == 1 }
        #expect(reports.exits.all.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test("N11: a forked child that holds the link delays nothing when its parent dies, and cannot write to the next")
    func fork() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try bridge(worker(limits: WorkerLimits(strikes: 1)))
        try await bridge.start()
        publish(1...3) { $0 == 2 ? "fork" : "" }
        await reports.deadLettered.wait { $0.count == 1 }
        await reports.done.wait { Set($0.map(\.number)) == [1, 3] }
        await bridge.waitUntilIdle()
        #expect(reports.exits.all.allSatisfy { $0.reason.hasPrefix("killed by SIGKILL") })
        await bridge.shutdown()
        reports.end()
    }
}
