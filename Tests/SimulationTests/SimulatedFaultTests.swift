import BridgePlatform
import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import Locks
import Testing

@testable import EventBridge
@testable import EventBridgeTesting

/// Faults by hand do what their names say, and broken invariants are found.
@Suite(.timeLimit(.minutes(5)))
struct SimulatedFaultTests {
    /// Runs one world in which the only faults are those by hand.
    private func run(_ body: @escaping @Sendable (SimulationWorld) async throws -> Void) async throws {
        try await BridgeSimulation(seeds: 1, faults: .none).run(body)
    }

    private func failure(_ body: @escaping @Sendable (SimulationWorld) async throws -> Void) async -> String? {
        await BridgeSimulation(faults: .none).outcome(of: Choices(seed: 1), body).failure?.reason
    }

    private static func counting(_ handled: Received, _ name: String = "counting") -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [Asked.self]) { publisher in
            [publisher.subscribe(to: Asked.self) { handled.add($0.number) }]
        }
    }

    @Test("A host that is killed takes its workers with it, and is started again with none of its events")
    func hostKill() async throws {
        try await run { world in
            let (handled, starts) = (Received(), Received())
            let host = await world.startHost(workers: [Self.counting(handled)]) { publisher, bridge in
                starts.add(1)
                try await bridge.start()
                if starts.all.count == 2 { _ = try await publisher.send(Asked(number: 2)) }
                return []
            }
            let first = host.bridge
            host.kill(startingAgainAfter: .seconds(3))
            guard host.bridge == nil else { throw SimulationError("there is a bridge in a process that was killed") }
            try await world.sleep(for: .seconds(1))
            guard world.core.processes.allSatisfy(\.hasEnded) else {
                throw SimulationError("a worker outlives its host by a second")
            }
            try await world.rest(within: .seconds(60))
            guard host.starts == 2, handled.all == [2], host.bridge !== first else {
                throw SimulationError("\(host.starts) starts, \(handled.all)")
            }
            guard world.time >= .seconds(3) else { throw SimulationError("it was started again after \(world.time)") }
        }
    }

    @Test("A process whose start a killed host had begun ends like the host's other workers")
    func startedByTheDead() async throws {
        try await run { world in
            let launcher = SimulatedLauncher([Self.counting(Received())], in: world.core)
            let order = LaunchOrder(
                specification: Self.counting(Received()).specification.child,
                isSuccessor: false,
                box: nil,
                cookie: "",
                limits: LinkLimits(),
                poller: try Poller(name: "bridge"),
                output: { _, _ in },
                leftBehind: { _, _ in }
            )
            // The thread that starts the process goes on until its process, the host, has been killed.
            launcher.launch(order) { _ in }
            launcher.hostWasKilled()
            try await world.sleep(for: .seconds(1))
            let started = world.core.processes.filter { $0.name == "counting" }
            guard started.count == 1, started.allSatisfy(\.hasEnded) else {
                throw SimulationError("\(started.map(\.hasEnded))")
            }
            order.poller.stop()
        }
    }

    @Test("A broken protocol damages no frame whose beginning was written", arguments: 1...8)
    func garbledBetweenFrames(begun: Int) async throws {
        try await run { world in
            let buffer = CBORBuffer(minimumCapacity: 256)
            ControlMessage.drain(graceMilliseconds: UntrustedNumber(70_000)).encode(into: buffer)
            let frame = buffer.copied()
            let poller = try Poller(name: "bridge")
            let (writer, reader) = MemoryStream.pair(poller: poller)
            let stream = FaultyStream(writer, StreamFaults(), in: world.core)
            let begun = min(begun, frame.count)
            var left = frame + frame
            func write(_ count: Int) {
                let outcome = left[..<count].withUnsafeBytes { stream.write([$0]) }
                if case .transferred(let count) = outcome { left.removeFirst(count) }
            }
            write(begun)
            stream.garble()
            while !left.isEmpty {
                let before = left.count
                write(left.count)
                guard left.count < before else { throw SimulationError("\(before) bytes are not taken") }
            }
            var read = [UInt8](repeating: 0, count: 1_024)
            let outcome = read.withUnsafeMutableBytes { reader.read(into: $0) }
            guard outcome == .transferred(2 * frame.count),
                Array(read[..<(2 * frame.count)]) == frame + Array(repeating: 0xff, count: frame.count)
            else { throw SimulationError("\(outcome): \(read[..<(2 * frame.count)])") }
            poller.stop()
        }
    }

    @Test("A process ends with the status that was asked for")
    func exitStatus() async throws {
        try await run { world in
            let publisher = EventPublisher()
            let exits = Statuses()
            let kept = publisher.subscribe(to: WorkerExited.self) { exits.add($0.reason) }
            try await world.start(publisher, workers: [Self.counting(Received())])
            world.crash("counting", .status(37))
            // No event is on its way, so the world is at rest before the host has seen the worker's end.
            try await world.sleep(for: .seconds(1))
            try await world.rest(within: .seconds(60))
            guard exits.all.contains(where: { $0.contains("37") }) else { throw SimulationError("\(exits.all)") }
            withExtendedLifetime(kept) {}
        }
    }

    @Test("A process that is started again gets events while one that was started earlier comes up to replace it")
    func slowReplacement() async throws {
        try await run { world in
            let (starts, handled) = (Received(), Received())
            let worker = InMemoryWorker("changing", subscribes: [Asked.self, Measured.self]) { publisher in
                starts.add(starts.all.count + 1)
                let start = starts.all.count
                if start == 2 { try await world.sleep(for: .seconds(3)) }
                return [
                    publisher.subscribe(to: Asked.self) { (_: Asked) in handled.add(start) },
                    publisher.subscribe(to: Measured.self) { (_: Measured) in
                        if start == 1 { world.exitHere(.status(1)) }
                    },
                ]
            }
            let publisher = EventPublisher()
            let host = try await world.start(publisher, workers: [worker])
            let replacing = world.task { _ = try await host.replace("changing", with: worker.specification) }
            try await world.sleep(for: .milliseconds(10))
            _ = try await publisher.send(Measured(number: 0))
            try await world.sleep(for: .seconds(1))
            _ = try await publisher.send(Asked(number: 0))
            await replacing.value
            _ = try await publisher.send(Asked(number: 1))
            try await world.rest(within: .seconds(60))
            guard handled.all == [3, 2] else { throw SimulationError("\(starts.all) were started, \(handled.all)") }
        }
    }

    @Test("A slow reader gets its events at its rate")
    func slowReader() async throws {
        try await run { world in
            let handled = Received()
            let publisher = EventPublisher()
            try await world.start(publisher, workers: [Self.counting(handled)])
            world.slow("counting", bytesPerSecond: 200)
            let begin = world.time
            for number in 0..<40 { _ = try await publisher.send(Asked(number: number)) }
            while handled.all.count < 40 { try await world.sleep(for: .milliseconds(100)) }
            guard world.time - begin > .seconds(3) else {
                throw SimulationError("40 events were read within \(world.time - begin)")
            }
        }
    }

    @Test("The wall clock jumps, and the other one does not")
    func wallClock() async throws {
        try await run { world in
            let (wall, monotonic) = (WallClock.now(), MonotonicClock.now())
            world.setWallClock(by: .seconds(-3_600))
            guard WallClock.now() < wall, MonotonicClock.now() - monotonic < 1_000_000 else {
                throw SimulationError("the wrong clock has jumped")
            }
            world.setWallClock(by: .seconds(7_200))
            guard WallClock.now() > wall + 3_599_000_000_000 else { throw SimulationError("the clock has not jumped") }
        }
    }

    @Test("What becomes due while everything stands still is due at once")
    func standstill() async throws {
        try await run { world in
            let begin = world.time
            world.standStill(for: .seconds(20))
            try await world.sleep(for: .seconds(1))
            guard world.time - begin >= .seconds(21) else { throw SimulationError("\(world.time - begin)") }
        }
    }

    @Test("A start waits for the handlers of its reports, however long everything stands still meanwhile")
    func standstillInReport() async throws {
        try await run { world in
            let told = Received()
            let publisher = EventPublisher()
            let subscription = publisher.subscribe(to: WorkerReady.self) { (_: WorkerReady) in
                world.standStill(for: .seconds(20))
                // All other threads have their turns before the handler returns, and so has each timer that is due.
                for _ in 0..<1_000 { yieldThread() }
                told.add(1)
            }
            try await world.start(publisher, workers: [Self.counting(Received())])
            guard told.all == [1] else { throw SimulationError("the start has not waited for its report") }
            subscription.cancel()
        }
    }

    @Test("Of two overlapping stops the longer one counts")
    func overlappingStops() async throws {
        try await run { world in
            let handled = Received()
            let publisher = EventPublisher()
            try await world.start(publisher, workers: [Self.counting(handled)])
            world.stop("counting", for: .seconds(2))
            world.stop("counting", for: .milliseconds(500))
            _ = try await publisher.send(Asked(number: 1))
            try await world.sleep(for: .seconds(1))
            guard handled.all.isEmpty else { throw SimulationError("a process that stands still has handled an event") }
            try await world.rest(within: .seconds(60))
            guard handled.all == [1] else { throw SimulationError("\(handled.all)") }
        }
    }

    @Test("A client attaches, gets events, and is gone when it is crashed")
    func client() async throws {
        try await run { world in
            let seen = Received()
            let publisher = EventPublisher()
            let host = try await world.start(publisher, workers: [], control: ControlSocket("control"))
            let client = await world.attach("watching") { publisher in
                [publisher.subscribe(to: Asked.self) { seen.add($0.number) }]
            }
            guard client.isAttached, host.clients.map(\.title) == ["watching"] else {
                throw SimulationError("\(host.clients)")
            }
            // The client has sent its interest, which may not have arrived.
            try await world.sleep(for: .seconds(1))
            publisher.publish(Asked(number: 1))
            while seen.all.isEmpty { try await world.sleep(for: .milliseconds(1)) }
            world.crash("watching")
            while !host.clients.isEmpty { try await world.sleep(for: .milliseconds(1)) }
            publisher.publish(Asked(number: 2))
            try await world.rest(within: .seconds(10))
            guard client.hasEnded, seen.all == [1] else { throw SimulationError("\(seen.all)") }
        }
    }

    @Test("Where no host lets clients in a client goes on trying, and the world is at rest")
    func noDoor() async throws {
        try await run { world in
            let publisher = EventPublisher()
            try await world.start(publisher, workers: [])
            world.task {
                try await world.sleep(for: .seconds(1))
                world.crash("knocking")
            }
            let client = await world.attach("knocking") { _ in [] }
            guard client.hasEnded, !client.isAttached else { throw SimulationError("it has attached to nothing") }
        }
    }

    // MARK: - Invariants

    @Test("A worker that is found to break the protocol unasked fails the run")
    func violation() async {
        let reason = await failure { world in
            let publisher = EventPublisher()
            try await world.start(publisher, workers: [Self.counting(Received())])
            world.core.processes.last?.stream?.garble()
            for number in 0..<10 { _ = try await publisher.send(Asked(number: number)) }
            try await world.rest(within: .seconds(60))
        }
        #expect(reason == "counting was found to break the protocol")
    }

    @Test("A host that keeps more than it may fails the run")
    func memory() async {
        let reason = await failure { world in
            let publisher = EventPublisher()
            let worker = InMemoryWorker("slow", subscribes: [BulkSent.self]) { publisher in
                [
                    publisher.subscribe(to: BulkSent.self) { (_: BulkSent) async throws in
                        try await world.sleep(for: .milliseconds(10))
                    }
                ]
            }
            let host = try await world.start(publisher, workers: [worker])
            // The audit uses these limits, which are smaller than the worker's own.
            let limits = WorkerLimits(outbox: 2 << 10, outboxHardLimit: 4 << 10)
            let little = InMemoryWorker("slow", limits: limits) { _ in [] }
            world.core.hosts = [
                WorldCore.Host(bridge: host, launcher: SimulatedLauncher([little], in: world.core))
            ]
            for number in 0..<30 { publisher.publish(BulkSent(number, bytes: 1_000)) }
            try await world.rest(within: .seconds(60))
        }
        #expect(reason?.contains("bytes are kept for slow") == true, "\(reason ?? "no failure")")
    }
}

private final class Statuses: @unchecked Sendable {
    private let lock = Lock()
    private var texts: [String] = []
    func add(_ text: String) { lock.withLock { texts.append(text) } }
    var all: [String] { lock.withLock { texts } }
}
