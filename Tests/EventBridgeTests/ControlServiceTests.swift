import BridgeClient
import BridgeControl
import BridgePlatform
import BridgeProtocol
import CBOR
import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

private struct CrateSealed: DomainEvent, Equatable {
    let number: Int
}

@Suite("Commands of the control socket", .serialized, .timeLimit(.minutes(5)))
struct ControlServiceTests {
    private let seen = Collected<Int>()

    /// A worker that notes the crates that are sealed.
    private func store(_ name: String = "store", pool: WorkerPool? = nil) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [CrateSealed.self], pool: pool) { [seen] publisher in
            [publisher.subscribe(to: CrateSealed.self) { seen.add($0.number) }]
        }
    }

    private func refusal(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch let error as BridgeClientError {
            #expect(error.code == .refused)
            return error.description
        } catch {
            return "\(error)"
        }
    }

    private func state(_ bridge: BridgeHost, _ worker: String = "store") -> ChildState? {
        bridge.status.first { $0.name == worker }?.state
    }

    @Test("a client is told how the host, its workers and its clients are")
    func status() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [
            store(), store("render", pool: WorkerPool(2)),
        ])
        for number in 1...3 { try await home.publisher.deliver(CrateSealed(number: number), within: .seconds(60)) }
        await bridge.waitUntilIdle()
        let client = try await home.attach(EventPublisher(), name: "a view")
        let report = try await client.status()
        #expect(report.pid == CurrentProcess.identifier && report.protocolVersion == 1 && !report.isStopping)
        #expect(report.workers.map(\.name) == ["store", "render.1", "render.2"])
        #expect(report.workers.map(\.pool) == [nil, "render", "render"])
        #expect(report.workerNames == ["store", "render", "render.1", "render.2"])
        #expect(report.clients.map(\.client) == ["client-1"] && report.clients.map(\.title) == ["a view"])
        let worker = try #require(report.workers.first)
        #expect(worker.state == "ready" && worker.detail == nil && worker.starts == 1 && worker.restarts == 0)
        #expect(worker.sent.offered == 3 && worker.sent.handled == 3 && worker.sent.settled == 3)
        #expect(worker.uptimeMilliseconds != nil && worker.lastExit == nil && worker.violations == 0)
        // The host's own process may ask as well.
        let own = try await home.publisher.request(
            BridgeStatusRequested(),
            awaiting: BridgeStatusReported.self,
            within: .seconds(60)
        )
        #expect(own.report.workers.map(\.name) == report.workers.map(\.name))
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("only the one who has asked gets the answer")
    func addressed() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store()])
        let (asking, listening) = (EventPublisher(), EventPublisher())
        let overheard = Collected<CommandAnswered>()
        let commands = Collected<WorkerRestartRequested>()
        let sealed = Collected<CrateSealed>()
        let subscriptions = [
            listening.subscribe(to: CommandAnswered.self) { overheard.add($0) },
            listening.subscribe(to: WorkerRestartRequested.self) { commands.add($0) },
            listening.subscribe(to: CrateSealed.self) { sealed.add($0) },
        ]
        let other = try await home.attach(listening)
        let client = try await home.attach(asking)
        try await client.restart("store")
        asking.publish(CrateSealed(number: 1))
        // This event would come after the answer, if there were one.
        await sealed.wait { $0.count == 1 }
        #expect(overheard.all.isEmpty && commands.all.isEmpty)
        await client.close()
        await other.close()
        await bridge.shutdown()
        withExtendedLifetime((subscriptions, kept)) {}
    }

    @Test("a worker is stopped, takes nothing meanwhile, stays down, and is started again")
    func stopAndRestart() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store(), store("other")])
        let client = try await home.attach(EventPublisher())
        try await client.stop("store")
        #expect(state(bridge) == .stopped && state(bridge, "other") == .ready)
        let error = await #expect(throws: DeliveryError.self) { try await home.publisher.send(CrateSealed(number: 1)) }
        #expect(error?.code == .workerUnavailable)
        #expect(error?.description.contains("it was stopped") == true)
        // A second stop is no mistake.
        try await client.stop("store")
        try await client.restart("store")
        #expect(state(bridge) == .ready)
        #expect(bridge.status.first?.starts == 2 && bridge.status.first?.restarts == 0)
        try await home.publisher.deliver(CrateSealed(number: 2), within: .seconds(60))
        #expect(seen.all == [2, 2])
        // A worker that runs is stopped first.
        try await client.restart("store")
        #expect(bridge.status.first?.starts == 3)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("what a stopped worker had not handled waits for its restart")
    func outboxIsKept() async throws {
        let home = try AttachHome()
        let (starts, begun, released) = (Collected<Void>(), Collected<Int>(), Collected<Void>())
        let worker = InMemoryWorker(
            "store",
            subscribes: [CrateSealed.self],
            shutdown: .draining(grace: .milliseconds(1), terminate: .milliseconds(1))
        ) { [seen] publisher in
            starts.add(())
            let isFirst = starts.count == 1
            return [
                publisher.subscribe(to: CrateSealed.self) { crate async in
                    begun.add(crate.number)
                    guard isFirst else { return seen.add(crate.number) }
                    await released.wait { !$0.isEmpty }
                }
            ]
        }
        let (bridge, kept) = try await home.start(workers: [worker])
        home.publisher.publish(CrateSealed(number: 1))
        await begun.wait { !$0.isEmpty }
        home.publisher.publish(CrateSealed(number: 2))
        bridge.stop("store")
        for await update in bridge.statusUpdates where update.workers[0].state == .stopped { break }
        #expect(bridge.stoppedWorkers == ["store"])
        bridge.restart("store")
        #expect(bridge.stoppedWorkers.isEmpty)
        #expect(await seen.wait { $0.count == 2 } == [1, 2])
        released.add(())
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("the name of a pool stands for all its members")
    func pool() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store("render", pool: WorkerPool(3))])
        let client = try await home.attach(EventPublisher())
        try await client.stop("render.2")
        #expect(bridge.status.map(\.state) == [.ready, .stopped, .ready])
        try await client.stop("render")
        #expect(bridge.status.allSatisfy { $0.state == .stopped })
        try await client.restart("render")
        #expect(bridge.status.allSatisfy { $0.state == .ready })
        #expect(bridge.status.map(\.starts) == [2, 2, 2])
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("a restart that comes to nothing says why; one of no worker names it")
    func failures() async throws {
        let home = try AttachHome()
        let starts = Collected<Void>()
        struct NoStore: Error, CustomStringConvertible { let description = "the store is gone" }
        let worker = InMemoryWorker(
            "store",
            restart: .temporary,
            backoff: .exponential(from: .milliseconds(1), to: .milliseconds(2))
        ) { _ in
            starts.add(())
            if starts.all.count > 1 { throw NoStore() }
            return []
        }
        let (bridge, kept) = try await home.start(workers: [worker])
        let client = try await home.attach(EventPublisher())
        let text = await refusal { try await client.restart("store") }
        #expect(
            text?.contains("refuses: worker \"store\" was stopped before it was ready: it ") == true,
            "\(text ?? "")"
        )
        #expect(await refusal { try await client.stop("stoer") }?.hasSuffix("there is no worker \"stoer\"") == true)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("a stop of everything is for the program that has the host: it is told, or the caller is")
    func stopHost() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store()])
        let client = try await home.attach(EventPublisher())
        let text = await refusal { try await client.stopHost(within: .seconds(60)) }
        #expect(text?.contains("nothing subscribes to BridgeStopRequested") == true, "\(text ?? "")")
        #expect(state(bridge) == .ready)
        let handling = home.publisher.subscribe(to: BridgeStopRequested.self) { _ in
            Task { await bridge.shutdown() }
        }
        // A client learns when it attaches that the command has a subscriber.
        let other = try await home.attach(EventPublisher())
        try await other.stopHost(within: .seconds(120))
        #expect(state(bridge) == .stopped)
        await other.close()
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime((kept, handling)) {}
    }

    @Test("a reload is for the program that has the host: it answers the one who has asked, or that one is told")
    func reload() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store()])
        let client = try await home.attach(EventPublisher())
        let text = await refusal { _ = try await client.reload(within: .seconds(60)) }
        #expect(text?.contains("the program that has the host at ") == true, "\(text ?? "")")
        #expect(text?.contains(" does not support this: nothing subscribes to ConfigurationReloadRequested") == true)
        let outcome = ReloadOutcome(.taken, unchanged: ["store"])
        let handling = home.publisher.subscribe(to: ConfigurationReloadRequested.self) {
            [publisher = home.publisher] _ in
            publisher.publish(ConfigurationReloaded(outcome))
        }
        let (other, overheard) = (EventPublisher(), Collected<ConfigurationReloaded>())
        let listening = other.subscribe(to: ConfigurationReloaded.self) { overheard.add($0) }
        let (asking, idle) = (try await home.attach(EventPublisher()), try await home.attach(other))
        #expect(try await asking.reload(within: .seconds(120)) == outcome)
        // The report comes after everything that the client could have overheard.
        _ = try await idle.status()
        #expect(overheard.all.isEmpty)
        for client in [client, asking, idle] { await client.close() }
        await bridge.shutdown()
        withExtendedLifetime((kept, handling, listening)) {}
    }

    @Test("a client is told which events are wanted and published, and by whom, in pieces")
    func eventNames() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store(), store("render", pool: WorkerPool(2))])
        let asking = EventPublisher()
        let many = EventName.set((0..<1_200).map { "Many\($0)" })
        // The names are sorted by their bytes, not by their numbers.
        let sorted = many.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let client = try await BridgeClient.connect(
            to: home.path,
            publisher: asking,
            name: "a view",
            wantsEverything: true,
            watchedNames: many,
            tap: { _ in },
            gapTap: nil
        )
        let names = try await client.eventNames(within: .seconds(120))
        let crate = try #require(names.first { $0.name == CrateSealed.eventName })
        // A client that wants everything is not listed at each name.
        #expect(crate.wantedBy == ["store", "render"])
        #expect(names.filter { $0.name.hasPrefix("Many") }.map(\.name) == sorted)
        #expect(names.filter { $0.name.hasPrefix("Many") }.allSatisfy { $0.wantedBy == ["client-1"] })
        #expect(!names.contains { $0.name == BridgeStatusRequested.eventName })
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("F14: a worker that commands, or answers in the host's place, is refused by name, and nothing is done")
    func fromWorker() async throws {
        let home = try AttachHome()
        let stops = Collected<BridgeStopRequested>()
        let refusals = Collected<EventRefused>()
        let subscriptions = [
            home.publisher.subscribe(to: BridgeStopRequested.self) { stops.add($0) },
            home.publisher.subscribe(to: EventRefused.self) { refusals.add($0) },
            home.publisher.subscribe(to: CommandAnswered.self) { _ in },
        ]
        let wild = InMemoryWorker("wild", subscribes: [CrateSealed.self]) { publisher in
            [
                publisher.subscribe(to: CrateSealed.self) { _ in
                    publisher.publish(WorkerStopRequested(worker: "store"))
                    publisher.publish(BridgeStopRequested())
                    publisher.publish(CommandAnswered())
                }
            ]
        }
        let (bridge, kept) = try await home.start(workers: [store(), wild])
        home.publisher.publish(CrateSealed(number: 1))
        let found = await refusals.wait { $0.count == 3 }
        #expect(
            found.map(\.reason) == [
                "worker \"wild\" may not publish WorkerStopRequested: only attached clients give commands",
                "worker \"wild\" may not publish BridgeStopRequested: only attached clients give commands",
                "worker \"wild\" may not publish CommandAnswered: only the host answers",
            ]
        )
        #expect(found.allSatisfy { $0.code == 4 })
        #expect(stops.all.isEmpty && state(bridge) == .ready && bridge.deadLetters.isEmpty)
        await bridge.shutdown()
        withExtendedLifetime((subscriptions, kept)) {}
    }

    @Test("F12: a command that comes again over another link is not done a second time")
    func secondAttempt() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store()])
        let raw = try RawClient(to: home.path)
        raw.send(.hello(RawClient.hello()))
        raw.send(.interest(Interest(wanted: [.init(number: 1, name: CommandAnswered.eventName)])))
        raw.send(.ready)
        await home.attached.wait { $0.count == 1 }
        let handled = Collected<Int>()
        let subscription = home.publisher.subscribe(to: WorkerStopRequested.self) { _ in
            handled.add(EventContext.current?.attempt ?? 0)
        }
        try raw.publish(WorkerStopRequested(worker: "store"), sequence: 1, attempt: 2)
        await handled.wait { $0 == [2] }
        #expect(state(bridge) == .ready)
        // The same command at its first attempt is carried out.
        try raw.publish(WorkerStopRequested(worker: "store"), sequence: 2, attempt: 1)
        for await update in bridge.statusUpdates where update.workers[0].state == .stopped { break }
        raw.close()
        await bridge.shutdown()
        withExtendedLifetime((subscription, kept)) {}
    }

    @Test("F12: a client that dies after its command leaves nothing behind, and the command is done")
    func killedCaller() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store()])
        let commanded = Collected<Void>()
        let subscription = home.publisher.subscribe(to: WorkerRestartRequested.self) { _ in commanded.add(()) }
        for round in 1...20 {
            let raw = try RawClient(to: home.path)
            raw.send(.hello(RawClient.hello()))
            raw.send(.ready)
            try raw.publish(WorkerRestartRequested(worker: "store"), sequence: 1, attempt: 1)
            await commanded.wait { $0.count == round }
            raw.close()
            for await update in bridge.statusUpdates
            where update.workers[0].state == .ready && update.workers[0].starts == round + 1 { break }
        }
        await home.detached.wait { $0.count == 20 }
        #expect(bridge.clients.isEmpty)
        let client = try await home.attach(EventPublisher())
        #expect(try await client.status().workers[0].starts == 21)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime((subscription, kept)) {}
    }

    @Test("of the commands whose outcome is awaited there are 256 at most; the next is refused and not carried out")
    func tooManyAwaited() async throws {
        let home = try AttachHome()
        let (gate, begun) = (Barrier(), Collected<Int>())
        let worker = InMemoryWorker(
            "store",
            subscribes: [CrateSealed.self],
            shutdown: .draining(grace: .seconds(240))
        ) { publisher in
            [
                publisher.subscribe(to: CrateSealed.self) { crate in
                    begun.add(crate.number)
                    gate.wait()
                }
            ]
        }
        let (bridge, kept) = try await home.start(workers: [worker, store("other")])
        let answers = Collected<CommandAnswered>()
        let subscription = home.publisher.subscribe(to: CommandAnswered.self) { answers.add($0) }
        home.publisher.publish(CrateSealed(number: 1))
        await begun.wait { !$0.isEmpty }
        for _ in 1...256 { home.publisher.publish(WorkerStopRequested(worker: "store")) }
        home.publisher.publish(WorkerStopRequested(worker: "other"))
        let refused = await answers.wait { !$0.isEmpty }
        #expect(
            refused.map(\.refusal) == [
                "worker \"other\" was left alone: 256 commands wait for their outcome already"
            ]
        )
        #expect(state(bridge, "other") == .ready)
        gate.open()
        #expect(await answers.wait { $0.count == 257 }.dropFirst().allSatisfy { $0.refusal == nil })
        // The outcomes make room for others.
        home.publisher.publish(WorkerStopRequested(worker: "other"))
        await answers.wait { $0.count == 258 }
        #expect(state(bridge, "other") == .stopped)
        await bridge.shutdown()
        withExtendedLifetime((kept, subscription)) {}
    }

    @Test("a command while everything stops is refused, or is done by the stop; a wait for it ends with the link")
    func whileStopping() async throws {
        let home = try AttachHome()
        let gate = Barrier()
        let begun = Collected<Int>()
        let worker = InMemoryWorker("store", subscribes: [CrateSealed.self]) { publisher in
            [
                publisher.subscribe(to: CrateSealed.self) { crate in
                    begun.add(crate.number)
                    gate.wait()
                }
            ]
        }
        let (bridge, kept) = try await home.start(workers: [worker])
        let client = try await home.attach(EventPublisher())
        home.publisher.publish(CrateSealed(number: 1))
        await begun.wait { !$0.isEmpty }
        let ending = Task { await bridge.shutdown(drainingWithin: .seconds(240)) }
        // The host first lets events on their way arrive; no update tells of that, but the next report does.
        while try await !client.status().isStopping { await Task.yield() }
        gate.open()
        do {
            for _ in 1...3 { try await client.restart("store") }
        } catch let error as BridgeClientError {
            #expect([.refused, .linkEnded].contains(error.code), "\(error)")
        }
        _ = await ending.value
        #expect(state(bridge) == .stopped)
        let late = await #expect(throws: BridgeClientError.self) { _ = try await client.status() }
        #expect(late?.code == .linkEnded)
        await client.close()
        withExtendedLifetime(kept) {}
    }
}

extension RawClient {
    /// Publishes an event, as the protocol has it.
    func publish(_ event: some DomainEvent, sequence: UInt64, attempt: UInt64) throws {
        let payload = CBORBuffer()
        try CBOREncoder().encode(event, into: payload)
        var head = EventHead(
            sequence: sequence,
            id: .sender(number: sequence),
            nanosecondsSinceEpoch: 1,
            name: .text(type(of: event).eventName)
        )
        head.attempt = UntrustedNumber(attempt)
        let frame = CBORBuffer()
        EventFrame.encodeHead(head, payloadBytes: payload.count, into: frame)
        send(Array(frame.bytes) + Array(payload.bytes))
    }
}
