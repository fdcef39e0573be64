import BridgePlatform
import BridgeTransport
import BridgeWorker
import DomainEvents
import EventBridge
import EventRouting
import Locks
import Supervision

/// A worker's process in a world, with its own threads and poller; it may end at any step.
final class SimulatedWorker: WorkerProcess, @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.

    let life: SimulatedProcess
    /// Whether this is the worker's present process; while it lives, no other process of the worker may get events.
    ///
    /// A replacement becomes the present process when it gets its first event, not when it starts.
    var isPresent: Bool
    /// The host's end of the stream between the host and the worker.
    let hostStream: FaultyStream
    private let world: WorldCore
    private let hostPoller: Poller
    private let session: WorkerSession
    private let poller: Poller
    private let stream: FaultyStream
    private var isReaped = false
    private var handler: (@Sendable (ExitReason) -> Void)?
    private var subscriptions: [Subscription] = []
    private var dooms: [Subscription] = []

    var processIdentifier: Int32 { life.identifier }

    init(
        _ life: SimulatedProcess,
        isSuccessor: Bool,
        cookie: String,
        streams: (host: FaultyStream, worker: FaultyStream),
        poller: Poller,
        hostPoller: Poller,
        tap: @escaping @Sendable (PassingEvent) -> Void,
        in world: WorldCore
    ) {
        self.life = life
        isPresent = !isSuccessor
        self.world = world
        self.poller = poller
        self.hostPoller = hostPoller
        (hostStream, stream) = streams
        life.stream = streams.worker
        session = WorkerSession(name: life.name, cookie: cookie, poller: poller, tap: tap)
        life.buried { [self] in
            session.abandon()
            for subscription in subscriptions + dooms { subscription.cancel() }
            (subscriptions, dooms) = ([], [])
            poller.stop()
        }
    }

    func run(_ body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]) {
        Task(executorPreference: life.process.executor) { [self] in
            do {
                try await session.run(over: stream) { [self] publisher in
                    watch(publisher)
                    subscriptions = try await body(publisher)
                }
                life.end(.status(0), because: "has finished")
            } catch {
                // EX_SOFTWARE, with which `BridgeWorker.main` ends after any failure but `notStartedBySupervisor`.
                life.end(.status(70), because: "ends: \(error)")
            }
        }
    }

    /// Subscribes before the worker's own code does, so a planned end comes before any inline handler of the worker.
    private func watch(_ publisher: EventPublisher) {
        for doom in world.doomed.removeValue(forKey: life.name) ?? [] {
            let subscription = doom.subscribe(publisher) { [self] in
                life.end(doom.exit, because: "ends in a handler of \(doom.event)")
                // The process is dead, but this thread of the process still runs: the thread stops here.
                world.scheduler.yieldIfDead()
            }
            dooms.append(subscription)
        }
    }

    // MARK: - Calls of the host

    func signal(_ signal: ChildSignal) {
        life.end(.signal(signal.number), because: "gets signal \(signal.number)")
    }

    func onExit(_ handler: @escaping @Sendable (ExitReason) -> Void) {
        self.handler = handler
        if isReaped { tellExit() }
    }

    // MARK: - Work of the system

    /// Waits for the end of the process, closes its stream and reports the end; runs on a thread of the host.
    func reap() {
        world.scheduler.waitForDeath(of: life.process)
        let matter = "worker \(life.name)"
        let first = UInt64(life.number) << 8
        let beforeEnd = world.choose(.lateExits, matter, first + 16, below: 300_000_000) {
            $0.nextOfAnySize(upTo: 300_000_000)
        }
        let beforeExit = world.choose(.lateExits, matter, first + 17, below: 300_000_000) {
            $0.nextOfAnySize(upTo: 300_000_000)
        }
        let scheduler = world.scheduler
        if beforeEnd != beforeExit { world.wasMet("late exit") }
        scheduler.sleep(nanoseconds: min(beforeEnd, beforeExit))
        if beforeEnd <= beforeExit { stream.close() } else { reaped() }
        scheduler.sleep(nanoseconds: max(beforeEnd, beforeExit) - min(beforeEnd, beforeExit))
        if beforeEnd <= beforeExit { reaped() } else { stream.close() }
    }

    private func reaped() {
        isReaped = true
        tellExit()
    }

    private func tellExit() {
        guard let exit = life.exit, let handler else { return }
        self.handler = nil
        hostPoller.perform { handler(exit.reason) }
    }

    /// Ends the stream and the worker after the host's process was killed.
    ///
    /// Where the kernel ends the children of a dead process, the worker ends at once. Elsewhere it ends when it sees
    /// the end of the stream, within 800 ms; its handlers may go on for that time. Runs on a thread of the system.
    func orphaned() {
        let last = world.choose(.hostKills, "orphan:\(life.name)", UInt64(life.number), below: 800_000_000) { numbers in
            numbers.next(below: 2) == 0 ? 0 : numbers.nextOfAnySize(upTo: 800_000_000)
        }
        if last == 0 {
            life.end(.signal(9), because: "is ended with its host")
        } else {
            let life = life
            world.scheduler.at(world.scheduler.now + last) {
                life.end(.status(0), because: "outlives its host no longer")
            }
        }
        hostStream.close()
    }
}
