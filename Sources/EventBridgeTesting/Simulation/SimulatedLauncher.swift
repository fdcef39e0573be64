import BridgePlatform
import BridgeTransport
import DomainEvents
import EventBridge
import Locks
import Supervision

/// Starts workers as processes of a world.
final class SimulatedLauncher: WorkerLauncher, @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.
    private let world: WorldCore
    private var bodies: [String: @Sendable (EventPublisher) async throws -> [Subscription]] = [:]
    /// The limits of each worker.
    private(set) var limits: [String: WorkerLimits] = [:]
    /// The fates of the events for the workers.
    private(set) var fates = FateRecord()
    /// The workers that may be alive.
    private var workers: [SimulatedWorker] = []
    /// Whether the host's process was killed; a worker's process whose start began before that may still start.
    private var isHostKilled = false

    init(_ workers: [InMemoryWorker], in world: WorldCore) {
        self.world = world
        add(workers)
    }

    /// Launches these workers from now on; the host removes the workers that are not among them.
    func replaceAll(by workers: [InMemoryWorker]) {
        fates.remove(Set(bodies.keys).subtracting(workers.flatMap(\.names)))
        add(workers)
    }

    private func add(_ workers: [InMemoryWorker]) {
        for worker in workers {
            if worker.specification.pool != nil { fates.addPool(worker.names, sharing: worker.shares) }
            for name in worker.names {
                bodies[name] = worker.body
                limits[name] = worker.specification.limits
            }
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
        // As in a real launcher, a new thread starts the process, and then waits for the process's end.
        _ = world.scheduler.start(name: "spawner", in: thread.process) { [self] in spawn(order, completion: completion)
        }
    }

    private func spawn(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        let name = order.specification.name
        let number = world.nextNumber(of: name)
        let matter = "worker \(name)"
        let first = UInt64(number) << 8
        let scheduler = world.scheduler
        let delay = world.choose(.lateStarts, matter, first, below: 2_000_000_000) {
            $0.nextOfAnySize(upTo: 2_000_000_000)
        }
        if delay > 0 { world.wasMet("late start") }
        scheduler.sleep(nanoseconds: delay)
        // In a sealed world the run is over, so no process starts any more.
        guard !world.isSealed, let body = bodies[name] else {
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
        let (hostEnd, workerEnd) = MemoryStream.pair(
            capacity: SimulatedProcess.capacity(of: matter, first + 1, in: world),
            poller: order.poller,
            other: poller
        )
        let toWorker = FaultyStream(workerEnd, SimulatedProcess.faults(of: matter, first + 32, in: world), in: world)
        let life = SimulatedProcess(name: name, number: number, process: process, in: world)
        world.tell("\(name) \(number) starts")
        life.decideFate(matter, first)
        let toHost = FaultyStream(
            hostEnd,
            SimulatedProcess.faults(of: matter, first + 48, in: world),
            watch: SettlementWatch(worker: name, shelf: hostEnd.shelf) { [weak self] in self?.settled($0, by: name) },
            in: world
        )
        toWorker.slow(to: SimulatedProcess.rate(of: name, number, in: world))
        let worker = SimulatedWorker(
            life,
            isSuccessor: order.isSuccessor,
            cookie: order.cookie,
            streams: (toHost, toWorker),
            poller: poller,
            hostPoller: order.poller,
            tap: world.tap(of: name) { [weak self, weak life] in self?.hasTwo(life) },
            in: world
        )
        keep(worker)
        worker.run(body)
        completion(.success(LaunchedWorker(stream: toHost, process: worker)))
        worker.reap()
    }

    // MARK: - One fate

    /// Notes how a worker has settled an event or a gap.
    func settled(_ settlement: FateRecord.Settlement, by worker: String) {
        guard !world.isSealed else { return }
        let record = world.record
        let mistake = fates.settled(settlement, by: worker) { record.name(of: $0, arrivedAt: worker) }
        if let mistake, !world.mayViolate.contains(worker) { world.fail(mistake) }
    }

    // MARK: - One at a time

    private func keep(_ worker: SimulatedWorker) {
        workers.removeAll { $0.life.hasEnded }
        let others = workers.filter { $0.life.name == worker.life.name }
        // A worker's replacement starts while the worker still runs.
        if others.count > 1 { world.fail("\(worker.life.name) is started a third time beside two that live") }
        workers.append(worker)
        // This thread belongs to the killed host, so here it acts as a thread of the system.
        if isHostKilled { world.scheduler.asProcess(world.system) { worker.orphaned() } }
    }

    /// Notes that a process has got an event, which makes the process the worker's present process.
    ///
    /// - Returns: The broken rule if the worker now has two present processes that live; otherwise nil.
    private func hasTwo(_ life: SimulatedProcess?) -> String? {
        guard let worker = workers.first(where: { $0.life === life }) else { return nil }
        worker.isPresent = true
        let name = worker.life.name
        let other = workers.first { $0 !== worker && $0.life.name == name && !$0.life.hasEnded && $0.isPresent }
        return other.map { "\(name) \(worker.life.number) gets events while \($0.life.number) lives" }
    }

    /// Ends the workers after the host's process was killed; runs on a thread of the system.
    func hostWasKilled() {
        isHostKilled = true
        for worker in workers where !worker.life.hasEnded { worker.orphaned() }
    }
}
