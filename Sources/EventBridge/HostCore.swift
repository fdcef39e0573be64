import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Ties supervision, links and the router together: performs what the supervisor decides, and tells it what happens.
final class HostCore: SupervisorEnvironment, WorkerIncarnation.Owner, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    let publisher: EventPublisher
    let router: EventRouter
    let deadLetters: DeadLetterStore
    let poller: Poller
    let statusBoard: StatusBoard
    private let specifications: [WorkerSpecification]
    let routes: [Route]
    private let launcher: any WorkerLauncher
    private let usages = UsageTally()
    private let outputs: [OutputGate]

    private let lock = Lock()
    private var incarnations: [WorkerIncarnation?]
    private var startWaiter: CheckedContinuation<Result<Void, StartupFailure>, Never>?
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []
    private var isStopped = false
    // Set once, before anything runs; the supervisor needs the environment and the other way round.
    private var supervisorBox: Supervisor?

    init(
        publisher: EventPublisher,
        specifications: [WorkerSpecification],
        pools: [RoutePool?],
        strategy: RestartStrategy,
        intensity: RestartIntensity,
        automaticShutdown: AutomaticShutdown = .never,
        startOrder: StartOrder = .together,
        launcher: any WorkerLauncher,
        poller: Poller,
        deadLetters bounds: DeadLetterBounds,
        output: (@Sendable (WorkerOutput) -> Void)? = nil,
        wantsEverything: Bool,
        tap: (@Sendable (PassingEvent) -> Void)?
    ) {
        self.publisher = publisher
        self.specifications = specifications
        self.launcher = launcher
        self.poller = poller
        statusBoard = StatusBoard(specifications.map(\.name))
        deadLetters = DeadLetterStore(bounds: bounds, publisher: publisher)
        router = EventRouter(
            publisher: publisher,
            poller: poller,
            wantsEverything: wantsEverything,
            deadLetters: deadLetters,
            tap: tap
        )
        routes = specifications.map { specification in
            Route(
                peerName: specification.name,
                role: .host,
                ownSource: publisher.source,
                limits: specification.limits.link,
                specified: Set(specification.subscribes),
                strikes: specification.limits.strikes,
                isRenewed: true,
                poller: poller
            )
        }
        outputs = specifications.map { specification in
            OutputGate(
                worker: specification.name,
                rate: specification.limits.output,
                publisher: publisher,
                poller: poller,
                closure: output
            )
        }
        for (route, pool) in zip(routes, pools) { route.pool = pool }
        incarnations = Array(repeating: nil, count: specifications.count)
        supervisorBox = Supervisor(
            specifications: specifications.map(\.child),
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startsInSequence: startOrder == .inSequence,
            environment: self
        )
    }

    private var supervisor: Supervisor? { lock.withLock { supervisorBox } }

    var hostIncarnation: UInt64 { publisher.source.incarnation }

    var status: [ChildStatus] {
        (supervisor?.status ?? []).enumerated().map { usages.filling(in: $0.element, of: $0.offset) }
    }

    /// Of the worker of this name, or of all members of the pool.
    func indices(of worker: String) -> [Int] {
        routes.indices.filter { routes[$0].peerName == worker || routes[$0].pool?.name == worker }
    }

    // MARK: - Requests

    func start() async -> Result<Void, StartupFailure> {
        for route in routes { router.add(route) }
        router.start()
        return await withCheckedContinuation { continuation in
            lock.withLock { startWaiter = continuation }
            supervisor?.startRequested()
        }
    }

    func stop() async {
        await withCheckedContinuation { continuation in
            let isDone = lock.withLock {
                if !isStopped { stopWaiters.append(continuation) }
                return isStopped
            }
            if isDone { continuation.resume() } else { supervisor?.stopRequested() }
        }
        await launcher.end(on: poller)
        // What has been read of their output by now is counted.
        await withCheckedContinuation { continuation in
            if !poller.perform({ continuation.resume() }) { continuation.resume() }
        }
        for output in outputs { output.tell() }
    }

    /// Returns when all workers have been stopped, whoever has asked for it.
    func waitUntilStopped() async {
        await withCheckedContinuation { continuation in
            let isDone = lock.withLock {
                if !isStopped { stopWaiters.append(continuation) }
                return isStopped
            }
            if isDone { continuation.resume() }
        }
    }

    func hurry() { supervisor?.stopHurried() }

    func restart(_ index: Int) {
        routes[index].forgetDeadLetters()
        supervisor?.restartRequested(index: index)
    }

    func stopWorker(_ index: Int) { supervisor?.stopChildRequested(index: index) }

    /// Ends everything at once: nobody holds the bridge any more.
    func abandon() {
        router.stop()
        statusBoard.finish()
        for incarnation in lock.withLock({ incarnations }) { incarnation?.abandon() }
        poller.stop()
    }

    /// What lies in each worker's outbox: events that were accepted and not handled.
    var leftovers: [(worker: String, events: Int)] {
        routes.map { ($0.peerName, $0.link.outboxDepth.events) }.filter { $0.events > 0 }
    }

    var statistics: [WorkerStatistics] { routes.map { WorkerStatistics(worker: $0.peerName, $0.statistics) } }

    // MARK: - SupervisorEnvironment

    var now: Duration { .onMonotonicClock }

    func launch(index: Int, incarnation number: Int) {
        let specification = specifications[index]
        let incarnation = WorkerIncarnation(
            index: index,
            number: number,
            specification: specification,
            route: routes[index],
            poller: poller,
            owner: self
        )
        lock.withLock { incarnations[index] = incarnation }
        routes[index].reopen()
        let order = LaunchOrder(
            specification: specification.child,
            cookie: incarnation.cookie,
            limits: specification.limits.link,
            poller: poller,
            output: { [gate = outputs[index]] line, isError in gate.take(line, isError: isError) },
            leftBehind: { [publisher] pid, found in
                publisher.publish(WorkerLeftBehind(worker: specification.name, pid: pid, found))
            }
        )
        launcher.launch(order) { [weak self] result in self?.launched(incarnation, result) }
    }

    private func launched(_ incarnation: WorkerIncarnation, _ result: Result<LaunchedWorker, LaunchFailure>) {
        switch result {
        case .failure(let failure):
            supervisor?.childSpawnFailed(
                index: incarnation.index,
                incarnation: incarnation.number,
                reason: failure.reason
            )
        case .success(let worker):
            // Before anybody hears of it: a child that was to be stopped while it was spawned is signalled at once.
            incarnation.spawned(worker.process)
            supervisor?.childSpawned(
                index: incarnation.index,
                incarnation: incarnation.number,
                pid: worker.process.processIdentifier
            )
            do {
                try incarnation.begin(worker)
            } catch {
                worker.process.signal(.kill)
                supervisor?.childExited(
                    index: incarnation.index,
                    incarnation: incarnation.number,
                    reason: .spawnFailed(
                        "its process cannot be watched: \(error)",
                        errno: (error as? SystemError)?.code
                    )
                )
            }
        }
    }

    func drain(index: Int) {
        var grace = Duration.seconds(5)
        for case .drain(let specified) in specifications[index].child.shutdown.steps { grace = specified }
        lock.withLock { incarnations[index] }?.drain(grace: grace)
    }

    func watchDemand(index: Int) {
        router.forgetInterest(of: routes[index])
        routes[index].whenDemanded { [weak self, poller] in
            // Whoever publishes does not start processes. A poller that takes nothing is at its end, and so is the bridge.
            poller.perform { [weak self] in self?.supervisor?.demandArose(index: index) }
        }
    }

    func signal(index: Int, _ signal: ChildSignal) {
        lock.withLock { incarnations[index] }?.signal(signal)
    }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> any SupervisorTimer {
        ScheduledTimer(timer: poller.schedule(after: delay.nanoseconds, body))
    }

    func statusChanged(index: Int, _ status: ChildStatus, reason: ExitReason?) {
        statusBoard.changed(index, to: usages.filling(in: status, of: index))
        if case .gaveUp(let why) = status.state {
            routes[index].close(because: "it was given up: \(why)", isGivenUp: true)
            router.peerIsUnavailable(routes[index])
        } else if status.state == .stopped {
            routes[index].close(because: "it was stopped")
            router.peerIsUnavailable(routes[index])
        }
        if let reason {
            let incarnation = lock.withLock { incarnations[index] }
            let ending = incarnation?.ending
            outputs[index].tell()
            publisher.publish(
                WorkerExited(
                    worker: status.name,
                    pid: incarnation?.pid,
                    reason: reason.description,
                    next: status.state.description,
                    wasAsked: status.deaths.last?.wasAsked ?? false,
                    outbox: incarnation?.takenOver.map(WorkerExited.Outbox.init),
                    exit: ending?.exit.flatMap(WorkerExited.Exit.init),
                    usage: ending?.usage
                )
            )
        }
        switch status.state {
        case .stopping:
            if reason == nil, let pid = status.pid, case .unresponsive(let silence, let busyWith)? = status.fault {
                publisher.publish(
                    WorkerUnresponsive(
                        worker: status.name,
                        pid: pid,
                        silentMilliseconds: silence.milliseconds,
                        busyWith: busyWith
                    )
                )
            }
        case .ready:
            if let pid = status.pid {
                publisher.publish(WorkerReady(worker: status.name, pid: pid, start: status.starts))
            }
        case .gaveUp(let why): publisher.publish(WorkerGaveUp(worker: status.name, reason: why))
        default: break
        }
    }

    func startupFinished(_ result: Result<Void, StartupFailure>) {
        let waiter = lock.withLock { startWaiter.take() }
        waiter?.resume(returning: result)
    }

    func automaticShutdownBegan(index: Int) {
        // Nothing new is taken: nobody is started again for it.
        router.closeIntake()
        publisher.publish(BridgeEnding(worker: specifications[index].name))
        Task {
            await settle(within: Self.drainingTime)
            supervisor?.stopRequested()
        }
    }

    func allStopped() {
        let waiters = lock.withLock {
            isStopped = true
            defer { stopWaiters = [] }
            return stopWaiters
        }
        router.stop()
        statusBoard.finish()
        for waiter in waiters { waiter.resume() }
    }

    // MARK: - WorkerIncarnation.Owner

    func incarnationBecameReady(_ incarnation: WorkerIncarnation) {
        supervisor?.childBecameReady(index: incarnation.index, incarnation: incarnation.number)
    }

    func incarnationSaidGoodbye(_ incarnation: WorkerIncarnation) {
        supervisor?.childDrained(index: incarnation.index, incarnation: incarnation.number)
    }

    func incarnationViolated(_ incarnation: WorkerIncarnation, _ reason: ExitReason) {
        supervisor?.childViolated(index: incarnation.index, incarnation: incarnation.number, reason: reason)
    }

    func incarnationMissedHeartbeats(_ incarnation: WorkerIncarnation, after time: Duration, busyWith: String?) {
        supervisor?.heartbeatMissed(
            index: incarnation.index,
            incarnation: incarnation.number,
            after: time,
            busyWith: busyWith
        )
    }

    func incarnationAskedForTime(_ incarnation: WorkerIncarnation, more: Duration, because reason: String) {
        supervisor?.childAskedForTime(
            index: incarnation.index,
            incarnation: incarnation.number,
            more: more,
            because: reason
        )
    }

    func isBeingDebugged(index: Int) -> Bool { lock.withLock { incarnations[index] }?.isBeingDebugged ?? false }

    func incarnationIdled(_ incarnation: WorkerIncarnation) {
        supervisor?.childIdled(index: incarnation.index, incarnation: incarnation.number)
    }

    func incarnationOverran(_ incarnation: WorkerIncarnation, event: String, after time: Duration) {
        supervisor?.handlerTimedOut(
            index: incarnation.index,
            incarnation: incarnation.number,
            event: event,
            after: time
        )
    }

    func incarnationLostEvents(_ lost: EventsLost) { publisher.publish(lost) }

    func incarnationEnded(
        _ incarnation: WorkerIncarnation,
        _ reason: ExitReason,
        isOrderly: Bool,
        verdict: CrashLedger.Verdict
    ) {
        // Before anybody hears of it.
        usages.add(incarnation.ending.usage, index: incarnation.index, incarnation: incarnation.number)
        supervisor?.childExited(
            index: incarnation.index,
            incarnation: incarnation.number,
            reason: reason,
            isOrderly: isOrderly,
            blame: ExitBlame(verdict, last: reason)
        )
    }
}

extension ExitBlame {
    fileprivate init(_ verdict: CrashLedger.Verdict, last reason: ExitReason) {
        self =
            switch verdict {
            case .worker: .child
            case .strike, .deadLetter: .elsewhere
            case .broken:
                .beyondHelp(
                    """
                    \(CrashLedger.deadLettersInARow) events in a row were dead-lettered because it crashed over them, \
                    and it handled none between; last: \(reason)
                    """
                )
            }
    }
}

private struct ScheduledTimer: SupervisorTimer {
    let timer: Poller.Timer

    func cancel() {
        // May be called from inside another timer's call; one that fires late is recognised by its token.
        timer.cancelWithoutWaiting()
    }
}
