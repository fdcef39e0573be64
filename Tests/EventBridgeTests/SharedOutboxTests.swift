import BridgePlatform
import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import FoundationEssentials
import Supervision
import TestSupport
import Testing

@Suite("What a worker has published arrives, however it ends", .serialized)
struct SharedOutboxTests {
    private let publisher = EventPublisher()

    /// A file in which a worker counts.
    private struct Counter {
        let path: String

        init(in directory: TemporaryDirectory, _ name: String) throws {
            path = directory.path + "/" + name
            try Data(count: 8).write(to: URL(fileURLWithPath: path))
        }

        func value() throws -> Int64 {
            try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
        }
    }

    /// Far beyond the window of 4,096 events.
    private static let farBursts: ClosedRange<Int64> = 4_300...7_000

    /// Whether these are consecutive numbers.
    private static func isConsecutive(_ numbers: [Int64], from first: Int64 = 1) -> Bool {
        numbers.enumerated().allSatisfy { $1 == first + Int64($0) }
    }

    @Test(
        "N3: a worker killed in the middle of a burst loses nothing that it had published",
        .timeLimit(.minutes(3)),
        arguments: [("burst", rounds(40, atLeast: 6)), ("burst-outside", rounds(10, atLeast: 2))]
    )
    func killedInBurst(_ misbehaviour: String, rounds: Int) async throws {
        let directory = try TemporaryDirectory()
        var random = SeededGenerator.announced()
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty(misbehaviour, subscribes: [WorkRequested.self])],
            intensity: RestartIntensity(restarts: 1_000, within: .seconds(1))
        )
        let barrier = Barrier(isOpen: true)
        let holding = publisher.subscribe(to: WorkDone.self) { _ in barrier.wait() }
        try await bridge.start()
        var seen = 0
        for round in 1...rounds {
            await reports.ready.wait { $0.count == round }
            // In every third round the host handles nothing before the death: no more than a window comes over the
            // socket, and the rest is in the memory alone. In the other rounds the two race.
            let isHeld = misbehaviour == "burst" && round % 3 == 0
            if isHeld { barrier.close() }
            defer { barrier.open() }
            let counter = try Counter(in: directory, "\(round)")
            publisher.publish(WorkRequested(number: 200_000, text: counter.path))
            let isShort = !isHeld && round % 5 == 0
            let limit = Int64.random(in: isShort ? 1...4_300 : Self.farBursts, using: &random)
            while try counter.value() < limit { await Task.yield() }
            #expect(ProcessSignal.kill(try #require(reports.ready.all.last?.pid)))
            barrier.open()
            let exit = try #require(await reports.exits.wait { $0.count == round }.last)
            // Everything that the worker has left comes before its end is reported.
            let arrived = reports.done.all.dropFirst(seen)
            seen += arrived.count
            #expect(arrived.allSatisfy { $0.text == counter.path })
            let numbers = arrived.map(\.number)
            let accepted = try counter.value()
            #expect(accepted >= limit)
            // The worker may have died after the last event was accepted and before it was counted.
            #expect(numbers.count == accepted || numbers.count == accepted + 1)
            #expect(Self.isConsecutive(numbers))
            let outbox = try #require(exit.outbox)
            #expect(outbox.damage == nil)
            #expect(outbox.lost == 0)
            if misbehaviour == "burst" { #expect(outbox.suspects.count == 1) }
            // Otherwise the socket alone has brought everything, and the test showed nothing.
            if isHeld { #expect(outbox.delivered >= limit - 4_096) }
        }
        await bridge.shutdown()
        holding.cancel()
        reports.end()
    }

    @Test(
        "a worker that kills itself right after its last publish loses nothing, though another process holds its link",
        .timeLimit(.minutes(5)),
        arguments: ["burst", "burst-held"]
    )
    func killedRightAfterPublish(_ misbehaviour: String) async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty(misbehaviour, restart: .temporary, subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 20_000, text: ""))
        await reports.exits.wait { $0.count == 1 }
        #expect(reports.done.all.count == 20_000)
        #expect(Self.isConsecutive(reports.done.all.map(\.number)))
        #expect(reports.exits.all.first?.outbox?.lost == 0)
        await bridge.shutdown()
        reports.end()
    }

    @Test("N3: the end of a worker that does not use the memory says nothing of it", .timeLimit(.minutes(5)))
    func memoryIsNotUsed() async throws {
        let exits = Collected<WorkerExited>()
        let losses = Collected<EventsLost>()
        let subscriptions = [
            publisher.subscribe(to: WorkerExited.self) { exits.add($0) },
            publisher.subscribe(to: EventsLost.self) { losses.add($0) },
        ]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("torn-frame", restart: .temporary, subscribes: [WorkRequested.self])]
        )
        try? await bridge.start()
        await exits.wait { $0.count == 1 }
        #expect(exits.all.first?.outbox == nil)
        // The host does not know how many events are gone, and makes up no number.
        #expect(losses.all.map(\.count) == [nil])
        #expect(losses.all.map(\.after) == [0])
        #expect(losses.all.first?.worker == "faulty")
        #expect(bridge.statistics.first?.received.lost == 0)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    /// Damage to the memory of a worker, whose layout is in `docs/reference/wire-protocol.md`.
    enum Damage: CaseIterable, Sendable {
        /// All frames are erased.
        case frames
        /// The worker's count of its events says more than there is room for.
        case count

        /// - Returns: Whether there is such memory, and it was damaged.
        func apply(to worker: Int32) -> Bool {
            guard let memory = SharedMemory(of: worker) else { return false }
            return switch self {
            case .frames: memory.write(Array(repeating: 0, count: 4 << 20), at: 4_096)
            case .count: memory.write(Array(repeating: 0x0F, count: 8), at: 24)
            }
        }
    }

    @Test(
        "N3: events that are lost with a worker's memory are told exactly, or as unknown, and never made up",
        .timeLimit(.minutes(5)),
        arguments: Damage.allCases
    )
    func lostEvents(_ damage: Damage) async throws {
        let directory = try TemporaryDirectory()
        let barrier = Barrier()
        let done = Collected<Int64>()
        let reports = Collected<String>()
        let losses = Collected<EventsLost>()
        let exits = Collected<WorkerExited>()
        let subscriptions = [
            publisher.subscribe(to: WorkDone.self) {
                barrier.wait()
                done.add($0.number)
            },
            publisher.subscribe(to: EventsLost.self) {
                reports.add("lost")
                losses.add($0)
            },
            publisher.subscribe(to: WorkerExited.self) {
                reports.add("exited")
                exits.add($0)
            },
        ]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("burst", restart: .temporary, subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        let counter = try Counter(in: directory, "count")
        let (all, window): (UInt64, UInt64) = (10_000, 4_096)
        publisher.publish(WorkRequested(number: Int64(all), text: counter.path))
        while try counter.value() < Int64(all) { await Task.yield() }
        // The window is closed: the rest lies in the memory, and neither side moves.
        while bridge.statistics[0].received.offered < window { await Task.yield() }
        let worker = try #require(bridge.status.first?.pid)
        #expect(damage.apply(to: worker))
        #expect(ProcessSignal.kill(worker))
        barrier.open()
        await exits.wait { $0.count == 1 }
        #expect(reports.all == ["lost", "exited"])
        let lost = try #require(losses.all.first)
        #expect(lost.worker == "faulty")
        #expect(lost.reason.hasPrefix("its outbox is damaged: "))
        let arrived = damage == .frames ? window : all
        #expect(lost.after == arrived)
        #expect(lost.count == (damage == .frames ? all - window : nil))
        #expect(done.all == Array(1...Int64(arrived)))
        #expect(exits.all.first?.outbox?.lost == lost.count ?? 0)
        // Damage counts against the worker like a broken protocol; the end of its process is reported all the same.
        #expect(bridge.statistics[0].violations == 1)
        #expect(exits.all.first?.reason.hasPrefix("broke the protocol: its outbox is damaged: ") == true)
        #expect(exits.all.first?.exit?.signal == 9)
        #expect(bridge.statistics[0].received.lost == lost.count ?? 0)
        #expect(bridge.statistics[0].received.isBalanced)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("a worker in memory that breaks off loses nothing that it had published", .timeLimit(.minutes(5)))
    func workerInMemory() async throws {
        struct BreaksOff: Error {}
        let reports = WorkerReports(publisher)
        let worker = InMemoryWorker(restart: .temporary, handshakeTimeout: patience) { publisher in
            for number: Int64 in 1...20_000 {
                publisher.publish(WorkDone(number: number, text: "", attempt: 1))
            }
            throw BreaksOff()
        }
        _ = try? await BridgeHost.inMemory(publisher, workers: [worker])
        await reports.exits.wait { $0.count == 1 }
        // From the very first event: a worker runs no code of its own before the host has sent its interest.
        #expect(reports.done.all.map(\.number) == Array(1...20_000))
        #expect(reports.exits.all.first?.outbox != nil)
        reports.end()
    }

    @Test("N16: a worker that scribbles over its memory harms itself only", .timeLimit(.minutes(5)))
    func scribbledMemory() async throws {
        var random = SeededGenerator.announced()
        let done = Collected<WorkDone>()
        let exits = Collected<WorkerExited>()
        let ready = Collected<WorkerReady>()
        let losses = Collected<EventsLost>()
        let subscriptions = [
            publisher.subscribe(to: WorkDone.self) { done.add($0) },
            publisher.subscribe(to: WorkerExited.self) { exits.add($0) },
            publisher.subscribe(to: WorkerReady.self) { ready.add($0) },
            publisher.subscribe(to: EventsLost.self) { losses.add($0) },
        ]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("scribble", subscribes: [WorkRequested.self]),
                faulty("none", name: "sound", subscribes: [WorkRequested.self]),
            ],
            intensity: RestartIntensity(restarts: 1_000, within: .seconds(1))
        )
        try await bridge.start()
        for round in 1...10 {
            publisher.publish(WorkRequested(number: 5_000 + Int64.random(in: 0..<1_000, using: &random), text: ""))
            await exits.wait { $0.count == round }
            await ready.wait { $0.count == round + 2 }
        }
        #expect(exits.all.allSatisfy { $0.worker == "faulty" })
        // The sound worker has answered them all.
        await done.wait { $0.count { $0.number >= 5_000 } >= 10 }
        // Each start whose memory was damaged, or not read at all, is reported once: with the counted number of lost
        // events, or without a number.
        let harmed = exits.all.filter { $0.outbox == nil || $0.outbox?.damage != nil }
        #expect(losses.all.map { $0.count ?? 0 } == harmed.map { $0.outbox?.lost ?? 0 })
        #expect(Set(losses.all.map(\.incarnation)).count == losses.all.count)
        #expect(losses.all.allSatisfy { $0.worker == "faulty" && $0.count != 0 })
        #expect(bridge.statistics.first?.received.lost == losses.all.compactMap(\.count).reduce(0, +))
        #expect(bridge.statistics.first?.received.isBalanced == true)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("A bridge whose workers were killed in bursts leaves no descriptor, child or memory", .timeLimit(.minutes(5)))
    func nothingIsLeft() async {
        await #expect(processExitsWith: .success) {
            try await killInBurst()
            let before = try Possessions()
            for _ in 0..<3 { try await killInBurst() }
            // A thread that has just reported the end of its link still has to release the memory.
            let deadline = MonotonicClock.now() + 120_000_000_000
            while try !Possessions().isWithin(before) || hasMemoryFile(), MonotonicClock.now() < deadline {
                await Task.yield()
            }
            guard try Possessions().isWithin(before), !hasMemoryFile() else {
                CurrentProcess.report("before: \(before); after: \(try Possessions()), \(hasMemoryFile())")
                CurrentProcess.exitImmediately(1)
            }
        }
    }
}

/// A bridge's life with a worker that dies of a burst.
private func killInBurst() async throws {
    let publisher = EventPublisher()
    let exits = Collected<WorkerExited>()
    let subscriptions = [
        publisher.subscribe(to: WorkDone.self) { _ in },
        publisher.subscribe(to: WorkerExited.self) { exits.add($0) },
    ]
    let bridge = try BridgeHost(
        publisher: publisher,
        workers: [
            faulty("burst", restart: .temporary, subscribes: [WorkRequested.self]),
            // The child is started while the outbox's descriptor is not close-on-exec yet.
            faulty("leak-descriptor", name: "parent", subscribes: []),
        ]
    )
    try await bridge.start()
    publisher.publish(WorkRequested(number: 10_000, text: ""))
    await exits.wait { !$0.isEmpty }
    await bridge.shutdown()
    for subscription in subscriptions { subscription.cancel() }
}

/// Whether this process has a memory file open or mapped.
func hasMemoryFile() -> Bool {
    let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
    let links = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [])
        .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    return (links + [maps]).contains { $0.contains("memfd:event-bridge") }
}
