import BridgePlatform
import BridgeTransport
import DomainEvents
import EventBridge
import Locks
import Supervision

/// Starts workers as processes of a world.
final class SimulatedLauncher: WorkerLauncher, @unchecked Sendable {
    // Sendable: everything mutable belongs to whichever thread has the world's baton.
    private let world: WorldCore
    private var bodies: [String: @Sendable (EventPublisher) async throws -> [Subscription]] = [:]
    private var starts: [String: Int] = [:]

    init(_ workers: [InMemoryWorker], in world: WorldCore) {
        self.world = world
        add(workers)
    }

    /// From now on workers of these names do what these do.
    func add(_ workers: [InMemoryWorker]) {
        for worker in workers {
            for name in worker.names { bodies[name] = worker.body }
        }
    }

    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        guard let thread = world.scheduler.current() else {
            completion(.failure(LaunchFailure(reason: .spawnFailed("started outside its simulation", errno: nil))))
            return
        }
        // As `posix_spawn` has a thread of its own; it stays to wait for the process's end.
        _ = world.scheduler.start(name: "spawner", in: thread.process) { [self] in spawn(order, completion: completion)
        }
    }

    private func spawn(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        let name = order.specification.name
        let number = starts[name, default: 0] + 1
        starts[name] = number
        let matter = "worker \(name)"
        let first = UInt64(number) << 8
        let scheduler = world.scheduler
        let delay = world.choose(.lateStarts, matter, first, below: 2_000_000_000) {
            $0.nextOfAnySize(upTo: 2_000_000_000)
        }
        if delay > 0 { world.wasMet("late start") }
        scheduler.sleep(nanoseconds: delay)
        guard let body = bodies[name] else {
            completion(.failure(LaunchFailure(reason: .spawnFailed("no worker has the name \"\(name)\"", errno: nil))))
            return
        }
        let process = scheduler.makeProcess(name: name)
        let poller: Poller
        do {
            poller = try scheduler.asProcess(process) { try Poller(name: "bridge") }
        } catch {
            completion(.failure(LaunchFailure(reason: .spawnFailed("\(error)", errno: nil))))
            return
        }
        let narrow = world.choose(.narrowStreams, matter, first + 1, below: 16) { $0.next(below: 16) }
        let (hostEnd, workerEnd) = MemoryStream.pair(
            capacity: narrow == 0 ? 200 << 10 : 64 << narrow,
            poller: order.poller,
            other: poller
        )
        let worker = SimulatedProcess(
            name: name,
            number: number,
            cookie: order.cookie,
            process: process,
            stream: FaultyStream(workerEnd, faults(of: matter, first + 32), in: world),
            poller: poller,
            hostPoller: order.poller,
            in: world
        )
        world.workers.append(worker)
        world.tell("\(name) \(number) starts")
        decideFate(of: worker, matter, first)
        worker.run(body)
        completion(
            .success(
                LaunchedWorker(
                    stream: FaultyStream(hostEnd, faults(of: matter, first + 48), in: world),
                    process: worker
                )
            )
        )
        worker.reap()
    }

    private func faults(of matter: String, _ first: UInt64) -> StreamFaults {
        StreamFaults(
            pieces: world.choose(.splits, matter, first, below: 4_096) { $0.nextOfAnySize(upTo: 4_095) },
            delay: world.choose(.delays, matter, first + 1, below: 20_000_000) { $0.nextOfAnySize(upTo: 20_000_000) },
            seed: world.scheduler.choices.seed &+ first
        )
    }

    /// When the process ends or stands still by itself, if it does.
    private func decideFate(of worker: SimulatedProcess, _ matter: String, _ first: UInt64) {
        let process = worker.process
        let world = world
        let crash = world.choose(.crashes, matter, first + 2, below: 1 << 14) { numbers in
            numbers.next(below: 3) == 0 ? 0 : numbers.nextOfAnySize(upTo: (1 << 14) - 1)
        }
        let stop = world.choose(.stops, matter, first + 3, below: 1 << 14) { numbers in
            numbers.next(below: 2) == 0 ? 0 : numbers.nextOfAnySize(upTo: (1 << 14) - 1)
        }
        let signals: [Int32] = [9, 11, 6, 15]
        let signal = signals[Int(world.choose(.crashes, matter, first + 4, below: 4) { $0.next(below: 4) })]
        let length = world.choose(.stops, matter, first + 5, below: 10_000_000_000) {
            $0.nextOfAnySize(upTo: 9_999_999_999)
        }
        let crashes: @Sendable () -> Void = {
            world.wasMet("crash")
            worker.end(.signal(signal), because: "crashes with signal \(signal)")
        }
        let stops: @Sendable () -> Void = {
            world.wasMet("stop")
            world.tell("\(worker.name) \(worker.number) stands still for \(length / 1_000) us")
            process.isStopped = true
            world.scheduler.at(world.scheduler.now + length) { process.isStopped = false }
            if crash > stop { process.fate = (crash, crashes) }
        }
        if stop > 0, crash == 0 || stop < crash {
            process.fate = (stop, stops)
        } else if crash > 0 {
            process.fate = (crash, crashes)
        }
    }
}
