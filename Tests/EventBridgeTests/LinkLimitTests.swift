import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import Supervision
import TestSupport
import Testing

@Suite("Workers that pass a limit of their link, or do what they may not", .serialized, .timeLimit(.minutes(5)))
struct LinkLimitTests {
    private let publisher = EventPublisher()

    private static let cases: [(String, WorkerLimits, String)] = [
        (
            "slow-frame", WorkerLimits(frameDeadline: .milliseconds(400)),
            "a frame that it has begun made no progress for 400 ms, which is the limit"
        ),
        (
            "flood-control", WorkerLimits(controlMessages: 5),
            "it sends too many control messages that answer no event; the limit is 5 a second, and 20 at once"
        ),
        (
            "flood-names", WorkerLimits(eventNames: 20),
            "it brings the event name \"Made up 21\"; the limit is 20 names that no other process knows"
        ),
        (
            "flood-interest", WorkerLimits(interestNames: 30, controlMessages: 1_000_000),
            "interest in more than 30 names"
        ),
        (
            "flood-interest", WorkerLimits(eventNames: 20, controlMessages: 1_000_000),
            "it brings the event name \"Made up 22\"; the limit is 20 names that no other process knows"
        ),
        ("command", WorkerLimits(), "a drain frame is forbidden: only a host sends it"),
    ]

    @Test(
        "D5, F14: each is a violation that names the limit, is counted, ends the worker, and harms no other",
        arguments: cases
    )
    func limits(misbehaviour: String, limits: WorkerLimits, expected: String) async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    misbehaviour,
                    name: "wild",
                    restart: .temporary,
                    subscribes: [WorkRequested.self],
                    limits: limits
                ),
                faulty("none", name: "tame", subscribes: [WorkRequested.self]),
            ]
        )
        try await bridge.start()
        let exits = await reports.exits.wait { $0.count == 1 }
        #expect(exits.first?.worker == "wild")
        #expect(exits.first?.reason == "broke the protocol: \(expected)")
        publisher.publish(WorkRequested(number: 1, text: ""))
        await reports.done.wait { $0.contains { $0.number == 1 } }
        #expect(bridge.statistics.map(\.violations) == [1, 0])
        await bridge.shutdown()
        #expect(reports.exits.all.filter { $0.worker == "tame" }.allSatisfy { $0.wasAsked })
        reports.end()
    }

    @Test("F14: what a worker may not publish is refused to it by name, and reaches no receiver")
    func forbiddenEvent() async throws {
        let reports = WorkerReports(publisher)
        let refused = Collected<EventRefused>()
        let subscription = publisher.subscribe(to: EventRefused.self) { refused.add($0) }
        var specification = faulty("none", subscribes: [WorkRequested.self])
        specification.publishes = ["SomethingElse"]
        let bridge = try BridgeHost(publisher: publisher, workers: [specification])
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: ""))
        let refusal = try #require(await refused.wait { !$0.isEmpty }.first)
        #expect(refusal.event == "WorkDone")
        #expect(refusal.reason.contains("worker \"faulty\" may not publish WorkDone"))
        #expect(reports.done.all.isEmpty)
        await bridge.shutdown()
        subscription.cancel()
        reports.end()
    }

    @Test("F14: the names that a worker may publish are compared by their bytes, not as text")
    func forbiddenSpelling() async throws {
        struct Letter: DomainEvent { static let eventName = "K" }
        struct SignForKelvin: DomainEvent { static let eventName = "\u{212A}" }
        let refused = Collected<EventRefused>()
        let heard = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: EventRefused.self) { refused.add($0) },
            publisher.subscribe(to: Letter.self) { _ in heard.add("letter") },
            publisher.subscribe(to: SignForKelvin.self) { _ in heard.add("sign") },
        ]
        let worker = InMemoryWorker(publishes: [SignForKelvin.self]) { publisher in
            publisher.publish(Letter())
            publisher.publish(SignForKelvin())
            return []
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        let refusal = try #require(await refused.wait { !$0.isEmpty }.first)
        #expect(Array(refusal.event.utf8) == Array("K".utf8))
        await heard.wait { $0.contains("sign") }
        #expect(heard.all == ["sign"])
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("F14: what a worker may not publish and has left behind at its death is announced, and was not delivered")
    func forbiddenEventLeft() async throws {
        let reports = WorkerReports(publisher)
        let refused = Collected<(event: EventRefused, origin: String?)>()
        let subscription = publisher.subscribe(to: EventRefused.self) {
            refused.add(($0, EventContext.current?.id.origin))
        }
        var specification = faulty("burst", subscribes: [WorkRequested.self])
        specification.publishes = ["SomethingElse"]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [specification],
            intensity: RestartIntensity(restarts: 1_000, within: .seconds(1))
        )
        try await bridge.start()
        // The worker fills its window at once, and seldom dies so late that it has nothing left. Only the host could
        // know that.
        var deaths = 0
        repeat {
            deaths += 1
            publisher.publish(WorkRequested(number: 20_000, text: ""))
            await reports.exits.wait(for: deaths)
        } while deaths < 10 && !refused.all.contains(where: { $0.origin == "host" })
        let exits = reports.exits.all
        #expect(exits.count == deaths)
        #expect(refused.all.contains { $0.origin == "host" })
        // Only the reports that the worker had got and had published itself were delivered.
        let delivered = exits.reduce(0) { $0 + ($1.outbox?.delivered ?? 0) }
        #expect(delivered <= refused.all.count { $0.origin == "faulty" })
        #expect(exits.allSatisfy { $0.outbox?.lost == 0 })
        #expect(refused.all.allSatisfy { $0.event.event == "WorkDone" && $0.event.worker == "host" })
        #expect(
            refused.all.allSatisfy { $0.event.reason.contains("worker \"faulty\" may not publish WorkDone") }
        )
        #expect(reports.done.all.isEmpty)
        await bridge.shutdown()
        subscription.cancel()
        reports.end()
    }

    @Test("A worker that answers as fast as it is asked passes no limit of control messages, however low")
    func fastWorker() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("none", subscribes: [WorkRequested.self], limits: WorkerLimits(controlMessages: 2))
            ]
        )
        try await bridge.start()
        for number: Int64 in 1...20_000 { try await publisher.send(WorkRequested(number: number, text: "")) }
        await reports.done.wait { $0.count == 20_000 }
        #expect(reports.exits.all.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test("Limits that make no sense are named")
    func mistakes() {
        let limits = WorkerLimits(interestNames: 0, eventNames: 65_537, controlMessages: 0, frameDeadline: .zero)
        let found = WorkerSpecification.validate([faulty("none", subscribes: [], limits: limits)])
        #expect(
            found == [
                "worker \"faulty\": it may want 0 event names; 1 to 65536 are possible",
                "worker \"faulty\": it may bring 65537 event names; 1 to 65536 are possible",
                "worker \"faulty\": it may send 0 control messages a second; 1 to 1000000 are possible",
                "worker \"faulty\": the frames' deadline is 0 s; it must be more than 0 s",
            ]
        )
    }

    @Test("An outbox of an impossible size is named", arguments: [1023, 1 << 41, .max])
    func outboxes(bytes: Int) {
        let limits = WorkerLimits(outbox: bytes, outboxHardLimit: .max)
        let hard = "worker \"faulty\": the outbox's hard limit is \(Int.max) bytes; 1 TiB is the most"
        #expect(
            WorkerSpecification.validate([faulty("none", subscribes: [], limits: limits)])
                == ["worker \"faulty\": the outbox has \(bytes) bytes; 1 KiB to 1 TiB are possible", hard]
        )
        let error = #expect(throws: BridgeError.self) {
            let control = ControlSocket("/run/control", outbox: bytes)
            _ = try BridgeHost(publisher: EventPublisher(), workers: [], control: control)
        }
        let sentence = "control: the outbox has \(bytes) bytes; 1 KiB to 1 TiB are possible"
        #expect(error?.description.contains(sentence) == true)
    }
}
