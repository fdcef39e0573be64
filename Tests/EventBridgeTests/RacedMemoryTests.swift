import BridgePlatform
import DomainEvents
import EventBridge
import ExampleDomain
import Supervision
import TestSupport
import Testing

@Suite("A worker whose memory changes under the host's eyes harms itself only", .serialized)
struct RacedMemoryTests {
    private let publisher = EventPublisher()

    /// How long a life may last that does not end by itself.
    private static let longestLife: UInt64 = 100_000_000

    /// The newest life of the worker.
    private struct Life {
        let process: Int32
        /// Counts the lives of processes with this id, this one included.
        private let number: Int

        init?(_ ready: [WorkerReady]) {
            guard let process = ready.last(where: { $0.worker == "faulty" })?.pid else { return nil }
            self.process = process
            number = ready.count { $0.pid == process }
        }

        func isOver(_ exits: [WorkerExited]) -> Bool { exits.count { $0.pid == process } >= number }
    }

    /// Waits for a life that is not known to be over: a worker may have died of what its predecessor never read, and
    /// been replaced, before the test looks.
    private func life(_ ready: Collected<WorkerReady>, _ exits: Collected<WorkerExited>) async throws -> Life {
        try #require(Life(await ready.wait { Life($0)?.isOver(exits.all) == false }))
    }

    @Test(
        "N16: numbers, bits and pages change while the worker lives and while the host reads what it has left",
        .timeLimit(.minutes(30)),
        arguments: ["burst", "none"]
    )
    func race(_ misbehaviour: String) async throws {
        var random = SeededGenerator.announced()
        let answers = Collected<Int64>()
        let ready = Collected<WorkerReady>()
        let exits = Collected<WorkerExited>()
        let subscriptions = [
            publisher.subscribe(to: WorkDone.self) {
                if EventContext.current?.id.origin == "sound" { answers.add($0.number) }
            },
            publisher.subscribe(to: WorkerReady.self) { ready.add($0) },
            publisher.subscribe(to: WorkerExited.self) { exits.add($0) },
        ]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(misbehaviour, subscribes: [WorkRequested.self]),
                faulty("none", name: "sound", subscribes: [WorkRequested.self]),
            ],
            intensity: RestartIntensity(restarts: 1_000, within: .seconds(1))
        )
        try await bridge.start()
        let before = try CurrentProcess.openDescriptors().count
        let lives = rounds(100, atLeast: 10)
        var (raced, changes) = (0, 0)
        for round in 1...lives {
            let life = try await life(ready, exits)
            guard let memory = SharedMemory(of: life.process) else {
                // The worker got an event that its predecessor never read, and has died already.
                await exits.wait { life.isOver($0) }
                continue
            }
            let racer = try MemoryRacer(memory, seed: random.next())
            let number = Int64(round) << 16 + Int64.random(in: 1...7_000, using: &random)
            // A large event is placed in memory; the text of a burst names a file, and here it names none.
            let text = misbehaviour == "none" ? String(repeating: "x", count: random.below(200_000)) : ""
            publisher.publish(WorkRequested(number: misbehaviour == "none" ? number : number & 0xFFFF, text: text))
            let end = MonotonicClock.now() + UInt64(random.below(Int(Self.longestLife)))
            while !life.isOver(exits.all), MonotonicClock.now() < end { await Task.yield() }
            _ = ProcessSignal.kill(life.process)
            // The racer goes on while the host reads the outbox of the dead worker, until the end is reported.
            await exits.wait { life.isOver($0) }
            changes += racer.stop()
            raced += 1
            await answers.wait(for: raced)
        }
        // The racer's damage is a matter of chance. Damage to a single number is always found: in the next life, or in
        // the one after it, because an event that its predecessor never read may end a worker before it is damaged.
        var damaged = 0
        while damaged < 3, exits.all.last?.reason.hasPrefix("broke the protocol: its outbox is damaged: ") != true {
            damaged += 1
            let life = try await life(ready, exits)
            _ = SharedMemory(of: life.process)?.write(Array(repeating: 0x0F, count: 8), at: 24)
            _ = ProcessSignal.kill(life.process)
            await exits.wait { life.isOver($0) }
        }
        #expect(raced > lives / 2)
        #expect(changes > raced)
        #expect(exits.all.allSatisfy { $0.worker == "faulty" })
        #expect(bridge.statistics.allSatisfy { $0.received.isBalanced })
        let violations = exits.all.count { $0.reason.hasPrefix("broke the protocol: ") }
        let found = "\(violations) found to break the protocol"
        print("\(misbehaviour): \(lives) lives, \(raced) of them raced with \(changes) changes, \(found)")
        #expect(violations > 0)
        _ = try await life(ready, exits)
        // A thread that has just reported the end of its link still has to release the memory.
        let deadline = MonotonicClock.now() + 60_000_000_000
        while try CurrentProcess.openDescriptors().count > before, MonotonicClock.now() < deadline {
            await Task.yield()
        }
        #expect(try CurrentProcess.openDescriptors().count <= before)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }
}
