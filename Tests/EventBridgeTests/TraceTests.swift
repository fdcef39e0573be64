import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

@Suite("The ways of events are traced while a subscriber wants to know", .timeLimit(.minutes(5)))
struct TraceTests {
    private let publisher = EventPublisher()

    /// A span with its process.
    private struct Place: Hashable {
        let process: String
        let stage: TracedSpan.Stage
        let event: String
        let peer: String?
    }

    private func host() async throws -> BridgeHost {
        try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("a", subscribes: [ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { errand in
                            publisher.publish(ErrandDone(number: errand.number))
                        }
                    ]
                },
                InMemoryWorker("b", subscribes: [ErrandDone.self]) { publisher in
                    [publisher.subscribe(to: ErrandDone.self) { _ async in await Task.yield() }]
                },
            ]
        )
    }

    private static func spans(_ batches: [EventsTraced]) -> [Place: [TracedSpan]] {
        var found: [Place: [TracedSpan]] = [:]
        for batch in batches {
            for span in batch.spans {
                let place = Place(process: batch.process, stage: span.stage, event: span.event, peer: span.peer)
                found[place, default: []].append(span)
            }
        }
        return found
    }

    @Test("an event and its effect leave spans in each process, with the cause, and nested in time as they happened")
    func everyStage() async throws {
        let batches = Collected<EventsTraced>()
        let tracing = publisher.subscribe(to: EventsTraced.self) { batches.add($0) }
        let done = Collected<Int>()
        let subscription = publisher.subscribe(to: ErrandDone.self) { done.add($0.number) }
        let bridge = try await host()
        publisher.publish(ErrandGiven(number: 1))
        let (given, answered) = (ErrandGiven.eventName, ErrandDone.eventName)
        let wanted: Set = [
            Place(process: "host", stage: .publish, event: given, peer: nil),
            Place(process: "host", stage: .outbox, event: given, peer: "a"),
            Place(process: "host", stage: .wire, event: given, peer: "a"),
            Place(process: "a", stage: .handling, event: given, peer: "host"),
            Place(process: "a", stage: .publish, event: answered, peer: nil),
            Place(process: "a", stage: .outbox, event: answered, peer: "host"),
            Place(process: "a", stage: .wire, event: answered, peer: "host"),
            Place(process: "host", stage: .passing, event: answered, peer: "a"),
            Place(process: "host", stage: .outbox, event: answered, peer: "b"),
            Place(process: "host", stage: .wire, event: answered, peer: "b"),
            Place(process: "host", stage: .handling, event: answered, peer: "a"),
            Place(process: "b", stage: .handling, event: answered, peer: "host"),
        ]
        let found = Self.spans(await batches.wait { Set(Self.spans($0).keys).isSuperset(of: wanted) })
        #expect(Set(found.keys) == wanted)
        #expect(found.values.allSatisfy { $0.count == 1 })
        func span(_ process: String, _ stage: TracedSpan.Stage, _ event: String, _ peer: String?) throws -> TracedSpan {
            try #require(found[Place(process: process, stage: stage, event: event, peer: peer)]?.first)
        }
        let publish = try span("host", .publish, given, nil)
        let outbox = try span("host", .outbox, given, "a")
        let wire = try span("host", .wire, given, "a")
        let handling = try span("a", .handling, given, "host")
        let effect = try span("a", .publish, answered, nil)
        let passing = try span("host", .passing, answered, "a")
        let last = try span("b", .handling, answered, "host")
        let all = found.values.flatMap(\.self)
        #expect(all.filter { $0.event == given }.allSatisfy { $0.id == publish.id && $0.cause == nil })
        #expect(all.filter { $0.event == answered }.allSatisfy { $0.id == effect.id && $0.cause == publish.id })
        #expect(all.allSatisfy { $0.attempt == 1 })
        #expect(publish.start <= outbox.start && outbox.end == wire.start)
        #expect(wire.contains(handling) && handling.contains(effect))
        #expect(handling.thread != nil && handling.thread == effect.thread)
        #expect(effect.start <= passing.start && passing.start <= last.start)
        #expect(try span("host", .wire, answered, "b").contains(last))
        // No single thread ran the last handler.
        #expect(last.thread == nil && outbox.thread == nil && wire.thread == nil)
        for batch in batches.all {
            let named = Dictionary(uniqueKeysWithValues: batch.threads.map { ($0.id, $0.name) })
            for span in batch.spans { if let thread = span.thread { #expect(named[thread]?.isEmpty == false) } }
            #expect(batch.dropped == 0 && batch.pid > 0)
        }
        await bridge.shutdown()
        withExtendedLifetime((tracing, subscription)) {}
    }

    @Test("nothing is noted while no subscriber wants to know, and reports of traces leave no trace themselves")
    func onlyWhileWanted() async throws {
        let done = Collected<Int>()
        let subscription = publisher.subscribe(to: ErrandDone.self) { done.add($0.number) }
        let bridge = try await host()
        publisher.publish(ErrandGiven(number: 1))
        await done.wait { $0.count == 1 }
        let first = Collected<EventsTraced>()
        let tracing = publisher.subscribe(to: EventsTraced.self) { first.add($0) }
        publisher.publish(ErrandGiven(number: 2))
        await first.wait { Set($0.map(\.process)) == ["host", "a", "b"] }
        tracing.cancel()
        publisher.publish(ErrandGiven(number: 3))
        await done.wait { $0.count == 3 }
        let second = Collected<EventsTraced>()
        let tracingAgain = publisher.subscribe(to: EventsTraced.self) { second.add($0) }
        publisher.publish(ErrandGiven(number: 4))
        await second.wait { Set($0.map(\.process)) == ["host", "a", "b"] }
        func ids(_ batches: [EventsTraced]) -> Set<String> {
            Set(batches.flatMap(\.spans).filter { $0.event == ErrandGiven.eventName }.map(\.id))
        }
        #expect(ids(first.all).count == 1)
        #expect(ids(second.all).count == 1)
        #expect(ids(first.all).isDisjoint(with: ids(second.all)))
        let events = Set((first.all + second.all).flatMap(\.spans).map(\.event))
        #expect(events == [ErrandGiven.eventName, ErrandDone.eventName])
        await bridge.shutdown()
        withExtendedLifetime((tracingAgain, subscription)) {}
    }

    @Test("a call that waits for room leaves one span, that of the event that is published then")
    func waitingCall() async throws {
        let batches = Collected<EventsTraced>()
        let tracing = publisher.subscribe(to: EventsTraced.self) { batches.add($0) }
        let gate = ErrandGate()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("a", subscribes: [ErrandGiven.self], limits: WorkerLimits(outbox: 1 << 10)) {
                    [$0.subscribe(to: ErrandGiven.self) { _ async in await gate.pass() }]
                }
            ]
        )
        let ids = try await withThrowingTaskGroup(of: EventID.self) { group in
            for number in 0..<8 {
                group.addTask { [publisher] in try await publisher.send(ErrandGiven(number: number)) }
                group.addTask { [publisher] in
                    try await publisher.deliver(ErrandGiven(number: number), within: .seconds(240)).id
                }
            }
            // Four events fill the outbox, so most calls wait by then.
            for _ in 0..<1_000 { await Task.yield() }
            gate.open()
            return try await group.reduce(into: Set()) { $0.insert($1.description) }
        }
        @Sendable func published(_ batches: [EventsTraced]) -> [String] {
            Self.spans(batches).filter { $0.key.stage == .publish && $0.key.event == ErrandGiven.eventName }
                .values.joined().map(\.id)
        }
        let all = published(await batches.wait { ids.isSubset(of: published($0)) })
        #expect(all.sorted() == ids.sorted())
        await bridge.shutdown()
        withExtendedLifetime(tracing) {}
    }

    @Test("the spans of a worker that is started again go on, with the attempt of what is delivered again")
    func nextStart() async throws {
        let batches = Collected<EventsTraced>()
        let tracing = publisher.subscribe(to: EventsTraced.self) { batches.add($0) }
        let reports = WorkerReports(publisher)
        let (gate, arrived) = (ErrandGate(), Collected<Int>())
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("a", subscribes: [ErrandGiven.self], shutdown: .killing) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { errand async in
                            arrived.add(errand.number)
                            if arrived.all.count == 1 { await gate.pass() }
                        }
                    ]
                }
            ]
        )
        publisher.publish(ErrandGiven(number: 1))
        await arrived.wait { $0.count == 1 }
        bridge.restart("a")
        await reports.ready.wait { $0.count == 2 }
        let found = await batches.wait { batches in
            batches.contains { $0.spans.contains { $0.stage == .wire && $0.peer == "a" } }
        }
        let spans = found.flatMap(\.spans)
        #expect(spans.filter { $0.stage == .wire && $0.peer == "a" }.map(\.attempt) == [2])
        #expect(spans.filter { $0.stage == .outbox && $0.peer == "a" }.map(\.attempt) == [1, 2])
        gate.open()
        await bridge.shutdown()
        reports.end()
        withExtendedLifetime(tracing) {}
    }
}

extension TracedSpan {
    fileprivate var end: UInt64 { start + duration }

    fileprivate func contains(_ other: TracedSpan) -> Bool { start <= other.start && other.end <= end }
}
