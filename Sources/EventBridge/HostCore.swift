import BridgeControl
import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Ties supervision, links and the router together: performs what the supervisor decides, and reports what happens.
final class HostCore: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    let publisher: EventPublisher
    /// Carries everything that the bridge reports about itself.
    let reports: ReportStrand
    let router: EventRouter
    let deadLetters: DeadLetterStore
    let poller: Poller
    let statusBoard: StatusBoard
    let launcher: any WorkerLauncher
    let usages = UsageTally()
    let rules: WorkerRules
    /// Where the workers' outboxes lie if the host has a journal.
    let outboxes: OutboxFiles
    /// Allows one change of the workers at a time.
    let changes = ChangeTurns()
    /// Where the lines that workers print go, and the counter that numbers them.
    let output: (target: OutputGate.Target, numbers: OutputNumbers)

    let lock = Lock()
    /// The workers by the supervisor's index; a removed worker keeps its place.
    var workers: [HostedWorker] = []
    /// The entry that takes the place of every removed worker.
    private lazy var vacancy = HostedWorker(
        WorkerSpecification("removed", executable: .path("")),
        of: nil,
        in: self,
        closedBecause: "it was removed"
    )
    /// The pools by name, for the specifications that have a pool.
    private var pools: [String: WorkerPool] = [:]
    /// The callers that wait for the end of a worker that is removed.
    private var removalWaiters: [Int: CheckedContinuation<Void, Never>] = [:]
    /// The callers that wait for the outcome of a replacement, by the number of their request.
    var replacements: [Int: PendingReplacement] = [:]
    var lastReplacement = 0
    private var startWaiter = StartWaiter.none
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []
    private var startRequest = StartRequest.outstanding(nil)
    private var stopping = Stopping.notRequested
    // Set once, before anything runs: the supervisor and its environment need each other.
    private var supervisorBox: Supervisor?

    init(
        publisher: EventPublisher,
        workers: [WorkerSpecification],
        rules: WorkerRules,
        launcher: any WorkerLauncher,
        poller: Poller,
        deadLetters bounds: DeadLetterBounds,
        output: (@Sendable (WorkerOutput) -> Void)? = nil,
        wantsEverything: Bool,
        tap: (@Sendable (PassingEvent) -> Void)?,
        tapsUnwanted: Bool = true
    ) {
        self.publisher = publisher
        self.launcher = launcher
        self.poller = poller
        self.rules = rules
        self.output = (
            output.map(OutputGate.Target.closure) ?? .published(otherwise: UnclaimedOutput()), OutputNumbers()
        )
        publisher.reserve(
            HostEventNames.reports.union(ControlEventNames.commands).union(ControlEventNames.answers)
        )
        reports = ReportStrand(publisher: publisher, poller: poller)
        statusBoard = StatusBoard()
        deadLetters = DeadLetterStore(bounds: bounds, reports: reports, journal: publisher.recording)
        router = EventRouter(
            publisher: publisher,
            poller: poller,
            reports: reports,
            wantsEverything: wantsEverything,
            deadLetters: deadLetters,
            control: ControlNames(commands: ControlEventNames.commands, answers: ControlEventNames.answers),
            tap: tap,
            tapsUnwanted: tapsUnwanted
        )
        outboxes = OutboxFiles(of: publisher, router)
        append(workers)
        supervisorBox = Supervisor(
            specifications: self.workers.map(\.specification.child),
            strategy: rules.strategy,
            intensity: rules.intensity,
            automaticShutdown: rules.automaticShutdown,
            startsInSequence: rules.startOrder == .inSequence,
            environment: self
        )
    }

    var supervisor: Supervisor? { lock.withLock { supervisorBox } }

    /// The peers of all workers, by index, including removed workers.
    var peers: [Peer] { lock.withLock { workers.map(\.peer) } }

    /// The worker with this index, as it is now.
    func worker(_ index: Int) -> HostedWorker { lock.withLock { workers[index] } }

    /// The workers that were not removed.
    var indices: [Int] { lock.withLock { workers.indices.filter { !workers[$0].isRemoved } } }

    var status: [ChildStatus] { statusByIndex.map(\.status) }

    /// The statuses of the workers that were not removed.
    var statusByIndex: [(index: Int, status: ChildStatus)] {
        let all = supervisor?.status ?? []
        return indices.filter(all.indices.contains).map { ($0, filled(all[$0], of: $0)) }
    }

    /// The status of the worker with this index, with details that the supervisor does not know.
    func filled(_ status: ChildStatus, of index: Int) -> ChildStatus {
        var status = usages.filling(in: status, of: index)
        if status.ended != nil, let incarnation = lock.withLock({ workers[index].starts[status.starts] }) {
            status.waitsFor = router.whatKeeps(incarnation.link, of: worker(index).peer)
        }
        return status
    }

    /// The status of the worker with this index; nil if it was removed.
    func status(at index: Int) -> ChildStatus? {
        guard let status = supervisor?.status, indices.contains(index), status.indices.contains(index) else {
            return nil
        }
        return filled(status[index], of: index)
    }

    /// The index of the worker of this name, or the indices of all members of the pool of this name.
    func indices(of worker: String) -> [Int] {
        lock.withLock {
            workers.indices.filter { index in
                let peer = workers[index].peer
                return !workers[index].isRemoved && (peer.peerName == worker || peer.pool?.name == worker)
            }
        }
    }

    /// The pool of this name; nil if there is none.
    func pool(named name: String) -> WorkerPool? { lock.withLock { pools[name] } }

    // MARK: - Workers that come and go

    /// Adds workers, behind all others, and returns their indices, the same as the supervisor's.
    @discardableResult
    func append(_ added: [WorkerSpecification]) -> Range<Int> {
        var made: [HostedWorker] = []
        for specification in added {
            let pool = specification.peerPool
            made += specification.members.map { HostedWorker($0, of: pool, in: self) }
        }
        statusBoard.add(made.map(\.specification.name))
        return lock.withLock {
            let first = workers.count
            workers += made
            for specification in added { pools[specification.name] = specification.pool }
            return first..<workers.count
        }
    }

    /// Asks the supervisor to end a worker for good, and returns when nothing is left of it.
    func removeChild(_ index: Int) async {
        await withCheckedContinuation { continuation in
            lock.withLock { removalWaiters[index] = continuation }
            supervisor?.removeChildRequested(index: index)
        }
    }

    func childRemoved(index: Int) {
        let (peer, output) = lock.withLock { (workers[index].peer, workers[index].output) }
        peer.close(because: "it was removed")
        router.retire(peer)
        output.tell()
        statusBoard.remove(index)
        usages.forget(index)
        let waiter = lock.withLock {
            pools[peer.pool?.name ?? peer.peerName] = nil
            workers[index].remove(leaving: vacancy)
            return removalWaiters.removeValue(forKey: index)
        }
        waiter?.resume()
    }

    // MARK: - Requests

    /// Gives the present workers what an earlier host owed them, as the publisher's journal says; called before
    /// ``startRouting()``, so that newer events come later.
    func takeUpOwed() {
        var recovery = HostRecovery(by: router, for: peers)
        guard recovery.restore(publisher.recording.takeOwed()) else { return }
        lock.withLock { startRequest = .outstanding(recovery) }
    }

    /// Begins to carry events to and from the present peers.
    func startRouting() {
        for peer in peers { router.add(peer) }
        router.start()
        let recovery = lock.withLock { () -> HostRecovery? in
            guard case .outstanding(let recovery) = startRequest else { return nil }
            startRequest = .outstanding(nil)
            return recovery
        }
        recovery?.complete()
    }

    /// How far the request to start has come.
    ///
    /// The host makes the request once at most, and never after a request to stop, which a start would undo.
    private enum StartRequest {
        /// Not made yet; until routing begins, this keeps what an earlier host owed: a failed start may be tried again.
        case outstanding(HostRecovery?)
        /// On its way to the supervisor: a stop and escalations wait until the request has arrived.
        case underWay(escalations: Int)
        case made
    }

    /// How far the stop of all workers has come.
    private enum Stopping: Comparable {
        case notRequested
        case requested
        case done
        /// Everything was ended at once: no further process may be launched.
        case abandoned
    }

    /// Whether the end was requested, or the automatic shutdown has begun.
    var isEnding: Bool { router.hasClosedIntake || lock.withLock { stopping != .notRequested } }

    /// Whether the host has requested the workers' start; once the intake is closed, it no longer does.
    var isStartRequested: Bool {
        lock.withLock { if case .outstanding = startRequest { false } else { true } }
    }

    /// Whether the host was abandoned; called with the lock held.
    var isAbandoned: Bool { stopping == .abandoned }

    /// Starts all workers, and waits until each is ready, a worker has failed, or the caller's task is cancelled.
    func start() async -> StartOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { start(thenResume: $0) }
        } onCancel: {
            Simulation.undivided {
                lock.withLock { startWaiter.take(leaving: .cancelled) }?.resume(returning: .cancelled)
            }
        }
    }

    private func start(thenResume continuation: CheckedContinuation<StartOutcome, Never>) {
        let (mayStart, isAwaited): (Bool, Bool) = lock.withLock {
            guard stopping == .notRequested, !router.hasClosedIntake else { return (false, false) }
            startRequest = .underWay(escalations: 0)
            if case .cancelled = startWaiter { return (true, false) }
            startWaiter = .waiting(continuation)
            return (true, true)
        }
        guard mayStart else { return continuation.resume(returning: .stopped) }
        supervisor?.startRequested()
        if !isAwaited { continuation.resume(returning: .cancelled) }
        let (isToStop, escalations): (Bool, Int) = lock.withLock {
            defer { startRequest = .made }
            let isStopRequested = stopping != .notRequested
            if case .underWay(let escalations) = startRequest { return (isStopRequested, escalations) }
            return (isStopRequested, 0)
        }
        if isToStop { supervisor?.stopRequested() }
        for _ in 0..<escalations { supervisor?.stopEscalated() }
    }

    func stop() async {
        await withCheckedContinuation { continuation in
            let (isDone, isNext): (Bool, Bool) = lock.withLock {
                let isDone = stopping >= .done
                if !isDone { stopWaiters.append(continuation) }
                stopping = max(stopping, .requested)
                if case .underWay = startRequest { return (isDone, false) }
                return (isDone, true)
            }
            if isDone { continuation.resume() } else if isNext { supervisor?.stopRequested() }
        }
        await launcher.end(on: poller)
        // When the poller runs this, it has counted all output that it had read before.
        await withCheckedContinuation { continuation in
            if !poller.perform({ continuation.resume() }) { continuation.resume() }
        }
        for output in lock.withLock({ workers.map(\.output) }) { output.tell() }
        outboxes.finish()
        await reports.passed()
    }

    /// Returns when all workers have been stopped, by any cause.
    func waitUntilStopped() async {
        await withCheckedContinuation { continuation in
            let isDone = lock.withLock {
                let isDone = stopping >= .done
                if !isDone { stopWaiters.append(continuation) }
                return isDone
            }
            if isDone { continuation.resume() }
        }
    }

    /// Escalates the stop of all workers; does nothing before the start, when there is no worker to stop.
    func escalate() {
        let isStarted = lock.withLock {
            switch startRequest {
            case .outstanding: return false
            case .underWay(let escalations):
                startRequest = .underWay(escalations: escalations + 1)
                return false
            case .made: return true
            }
        }
        if isStarted { supervisor?.stopEscalated() }
    }

    func restart(_ index: Int) {
        let peer = lock.withLock {
            workers[index].wasStoppedOnRequest = false
            return workers[index].peer
        }
        peer.forgetDeadLetters()
        supervisor?.restartRequested(index: index)
    }

    func stopWorker(_ index: Int) {
        // A worker that has stopped by itself, or is removed, does not count as stopped on request. A worker that was
        // added and not started yet does count.
        let isStopped = status(at: index).map { !$0.state.isAtRest || $0.state == .notStarted } ?? false
        lock.withLock {
            if isStopped, !workers[index].isRemoved { workers[index].wasStoppedOnRequest = true }
        }
        supervisor?.stopChildRequested(index: index)
    }

    /// The workers that were stopped on request and may be started again; none once the bridge itself ends.
    var stoppedOnRequest: [String] {
        router.hasClosedIntake ? [] : lock.withLock { workers.filter(\.wasStoppedOnRequest).map(\.peer.peerName) }
    }

    /// Ends everything at once; afterwards nothing keeps the bridge alive.
    func abandon() {
        router.stop()
        statusBoard.finish()
        // The end of a process that is killed below may ask for the next start, which must not come.
        let starts = lock.withLock {
            stopping = .abandoned
            return workers.flatMap(\.starts.all)
        }
        for incarnation in starts { incarnation.abandon() }
        outboxes.leave()
        poller.stop()
    }

    /// How many events each worker's outbox has: events that were accepted and not handled.
    var leftovers: [(worker: String, events: Int)] {
        presentPeers.map { ($0.peerName, $0.link.outboxDepth.events) }.filter { $0.events > 0 }
    }

    var statistics: [WorkerStatistics] { presentPeers.map { WorkerStatistics(worker: $0.peerName, $0.statistics) } }

    private var presentPeers: [Peer] {
        lock.withLock { workers.filter { !$0.isRemoved }.map(\.peer) }
    }

    /// All starts of workers that may have a process.
    private var starts: [WorkerIncarnation] { lock.withLock { workers.flatMap(\.starts.all) } }

    // MARK: - Processes

    /// The worker that a process is or descends from, if that worker may not control this host; nil otherwise.
    func workerWithoutControl(behind process: Int32) -> String? {
        let (line, group) = (ProcessDescent.line(of: process), ProcessDescent.group(of: process))
        for start in starts where start.ending.exit == nil {
            guard let pid = start.pid, line.contains(pid) || group == pid else { continue }
            return start.specification.allowsControl ? nil : start.specification.name
        }
        // The process's parents may have ended, and it may have a group of its own, as daemons do.
        guard let name = launcher.worker(markedOn: process) else { return nil }
        let isAllowed = lock.withLock {
            workers.contains { $0.specification.name == name && $0.specification.allowsControl }
        }
        return isAllowed ? nil : name.isEmpty ? "(one that has ended)" : name
    }

    // MARK: - What the supervisor concludes

    func startupFinished(_ result: Result<Void, StartupFailure>) {
        guard let waiter = lock.withLock({ startWaiter.take(leaving: .none) }) else { return }
        let outcome: StartOutcome =
            switch result {
            case .success: .ready
            case .failure(let failure): .failed(failure)
            }
        // The reports come first: the caller learns of the start after each `WorkerReady`, unless a handler is slow.
        reports.whenPassed { waiter.resume(returning: outcome) }
    }

    func allStopped() {
        // Reports about the ends still go to attached clients, before the router stops.
        router.whenReported { [self] in
            router.stop()
            statusBoard.finish()
            let waiters = lock.withLock {
                stopping = max(stopping, .done)
                defer { stopWaiters = [] }
                return stopWaiters
            }
            for waiter in waiters { waiter.resume() }
        }
    }
}
