import DomainEvents
public import EventBridge
import Locks

/// A host's program in a process of its own, which a kill can end at any step.
///
/// After a kill the world starts the program again, as a service manager would. As outside a simulation, nothing that
/// the host holds outlives its process: its threads stop, and its streams end. The workers end with the host or within
/// 800 ms, and the clients attach to the next host.
public final class SimulatedHost: @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.

    typealias Program = @Sendable (EventPublisher, BridgeHost) async throws -> [Subscription]

    /// The bridge of the present process; nil while no process runs.
    public private(set) var bridge: BridgeHost?
    /// How many times the program was started.
    public private(set) var starts = 0

    private let core: WorldCore
    private let description: HostDescription
    private let program: Program
    private var life: SimulatedProcess?
    /// The host of the present process; while no process runs, the host of the last process.
    private var made: WorldCore.Host?
    private var isRunning = false
    private var waiters: [CheckedContinuation<Void, Never>] = []
    /// The pause before the next start, in nanoseconds, if the test has killed the host; nil if the seed decides.
    private var pause: UInt64?

    /// How many starts, counted from the first, have processes that a seed may kill.
    private static let mostKills = 3

    init(
        _ description: HostDescription,
        in core: WorldCore,
        program: @escaping Program
    ) {
        self.core = core
        self.description = description
        self.program = program
    }

    /// Kills the process now, at its present step; the next process starts after the given time.
    public func kill(startingAgainAfter time: Duration = .milliseconds(100)) {
        guard let life, !life.hasEnded else { return }
        pause = time.simulatedNanoseconds
        kill(life)
    }

    private func kill(_ life: SimulatedProcess) {
        core.wasMet("host kill")
        life.end(.signal(9), because: "is killed")
    }

    // MARK: - Its processes

    /// Starts the program, and returns when a process has come to the end of the program.
    func begin() async {
        _ = core.scheduler.start(name: "system", in: core.system) { [self] in
            while !core.isSealed { runOnce() }
        }
        await waitUntilRunning()
    }

    /// Returns when a process has come to the end of the program, at once if the present process has.
    func waitUntilRunning() async {
        if isRunning { return }
        await withCheckedContinuation { waiters.append($0) }
    }

    /// Runs one process from its start to its end; runs on a thread of the system.
    private func runOnce() {
        starts += 1
        let scheduler = core.scheduler
        let process = scheduler.makeProcess(name: "host")
        let life = SimulatedProcess(name: "host", number: starts, process: process, in: core)
        self.life = life
        life.whenEnded = { [self] in
            core.hosts.removeAll { $0.bridge === bridge }
            (isRunning, bridge) = (false, nil)
        }
        if starts <= Self.mostKills {
            life.meet(life.point(.hostKills, "host", UInt64(starts) << 8, oneIn: 3)) { [self] in kill(life) }
        }
        core.tell("host \(starts) starts")
        Task(executorPreference: process.executor) { [self] in await run(life) }
        scheduler.waitForDeath(of: process)
        guard life.hasEnded, !core.isSealed else { return }
        core.entrance?.hostWasKilled()
        made?.launcher.hostWasKilled()
        let chosen = core.choose(.hostKills, "host", UInt64(starts) << 8 + 1, below: 2_000_000_000) {
            $0.nextOfAnySize(upTo: 2_000_000_000)
        }
        scheduler.sleep(nanoseconds: pause.take() ?? chosen)
    }

    private func run(_ life: SimulatedProcess) async {
        do {
            let publisher = EventPublisher()
            let made = try description.make(publisher, in: core)
            let host = made.bridge
            (bridge, self.made) = (host, made)
            let kept = KeptSubscriptions()
            life.buried {
                host.abandon()
                kept.subscriptions = []
            }
            kept.subscriptions = try await program(publisher, host)
        } catch {
            core.fail("the host's program threw: \(error)")
        }
        isRunning = true
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    /// The subscriptions that a process keeps.
    private final class KeptSubscriptions: @unchecked Sendable {
        // Sendable: like its owner, it belongs to the thread that has the world's baton.
        var subscriptions: [Subscription] = []
    }

    // MARK: - The end

    /// Ends the process; called after its bridge was shut down.
    func finish() {
        life?.end(.status(0), because: "has finished")
        made = nil
    }
}
