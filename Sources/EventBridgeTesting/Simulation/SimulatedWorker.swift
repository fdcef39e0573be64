import BridgePlatform
import BridgeTransport
import BridgeWorker
import DomainEvents
import EventBridge
import Locks
import Supervision

/// How a simulated process ends.
public enum SimulatedExit: Sendable, Hashable {
    /// By itself, with this status.
    case status(Int32)
    /// By a signal of this number, as a crash or the kernel ends it.
    case signal(Int32)

    var reason: ExitReason {
        switch self {
        case .status(let status): .exited(status: status)
        case .signal(let number): .signaled(number: number, coreDumped: false)
        }
    }
}

/// A worker's process in a world: threads of its own, a poller of its own, and an end at any step.
final class SimulatedProcess: WorkerProcess, @unchecked Sendable {
    // Sendable: everything mutable belongs to whichever thread has the world's baton.

    let name: String
    let number: Int
    let process: WorldProcess
    private let world: WorldCore
    private let hostPoller: Poller
    private let session: WorkerSession
    private let poller: Poller
    private let stream: any ByteStream
    private var exit: SimulatedExit?
    private var isReaped = false
    private var handler: (@Sendable (ExitReason) -> Void)?
    private var subscriptions: [Subscription] = []
    private var dooms: [Subscription] = []

    var processIdentifier: Int32 { 1_000 + Int32(clamping: process.number) }

    init(
        name: String,
        number: Int,
        cookie: String,
        process: WorldProcess,
        stream: any ByteStream,
        poller: Poller,
        hostPoller: Poller,
        in world: WorldCore
    ) {
        self.name = name
        self.number = number
        self.process = process
        self.world = world
        self.stream = stream
        self.poller = poller
        self.hostPoller = hostPoller
        session = WorkerSession(name: name, cookie: cookie, poller: poller, tap: world.tap(of: name))
    }

    func run(_ body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]) {
        Task(executorPreference: process.executor) { [self] in
            do {
                try await session.run(over: stream) { [self] publisher in
                    watch(publisher)
                    subscriptions = try await body(publisher)
                }
                end(.status(0), because: "has finished")
            } catch {
                // As BridgeWorker.main ends a process: EX_SOFTWARE.
                end(.status(70), because: "ends: \(error)")
            }
        }
    }

    /// Ahead of the worker's own subscriptions, so that no handler of the worker's has begun.
    private func watch(_ publisher: EventPublisher) {
        for doom in world.doomed.removeValue(forKey: name) ?? [] {
            let subscription = doom.subscribe(publisher) { [self] in
                end(doom.exit, because: "ends in a handler of \(doom.event)")
                // Its next step is its last.
                world.scheduler.yieldIfDead()
            }
            dooms.append(subscription)
        }
    }

    /// Ends the process where it stands.
    func end(_ exit: SimulatedExit, because reason: String) {
        guard self.exit == nil else { return }
        self.exit = exit
        world.tell("\(name) \(number) \(reason)")
        world.scheduler.kill(process)
    }

    var hasEnded: Bool { exit != nil }

    // MARK: - What the host does

    func signal(_ signal: ChildSignal) {
        end(.signal(signal.number), because: "gets signal \(signal.number)")
    }

    func onExit(_ handler: @escaping @Sendable (ExitReason) -> Void) {
        self.handler = handler
        if isReaped { tellExit() }
    }

    // MARK: - What the system does

    /// Waits for the process's end, closes what it had open and tells the host; on a thread of the host's.
    func reap() {
        world.scheduler.waitForDeath(of: process)
        let matter = "worker \(name)"
        let first = UInt64(number) << 8
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
        guard let exit, let handler else { return }
        self.handler = nil
        hostPoller.perform { handler(exit.reason) }
    }

    /// When the world is at its end: lets the threads of a process that has ended come to theirs, so that it leaves no memory behind.
    func bury() {
        guard exit != nil else { return }
        process.isDead = false
        process.isStopped = false
        _ = world.scheduler.start(name: "undertaker", in: process) { [self] in
            session.abandon()
            for subscription in subscriptions + dooms { subscription.cancel() }
            (subscriptions, dooms) = ([], [])
            poller.stop()
        }
    }
}
