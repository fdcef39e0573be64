import BridgeControl
import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Ties supervision, links and the router together: performs what the supervisor decides, and tells it what happens.
final class HostCore: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    let publisher: EventPublisher
    /// On which everything goes that the bridge reports about itself.
    let reports: ReportLine
    let router: EventRouter
    let deadLetters: DeadLetterStore
    let poller: Poller
    let statusBoard: StatusBoard
    let launcher: any WorkerLauncher
    let usages = UsageTally()
    let automaticShutdown: AutomaticShutdown
    let startOrder: StartOrder
    /// One change of the workers at a time.
    let changes = ChangeTurns()
    /// Gets what workers print; nil if it is published.
    private let output: (@Sendable (WorkerOutput) -> Void)?

    let lock = Lock()
    // By the supervisor's index; what was removed keeps its place, in which ``vacancy`` stands for it.
    private var routesNow: [Route] = []
    private var outputsNow: [OutputGate] = []
    var specifications: [WorkerSpecification] = []
    var incarnations: [IncarnationTable] = []
    /// Those of which nothing is left.
    private var removed: Set<Int> = []
    /// Stands in the places of all removed workers: a host whose workers come and go does not grow by what each of them had.
    private lazy var vacancy = makeVacancy()
    /// By name, of those specifications that have one.
    private var pools: [String: WorkerPool] = [:]
    /// Those who wait for the end of a worker that is removed.
    private var removalWaiters: [Int: CheckedContinuation<Void, Never>] = [:]
    /// Those who wait to hear what has become of a replacement, by the number of their request.
    var replacements: [Int: PendingReplacement] = [:]
    var lastReplacement = 0
    /// The workers that were stopped one by one, by request.
    private var stoppedOnRequest: Set<String> = []
    private var startWaiter: CheckedContinuation<Result<Void, StartupFailure>?, Never>?
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []
    private var startRequest = StartRequest.outstanding
    private var isStopRequested = false
    private var isStopped = false
    // Set once, before anything runs; the supervisor needs the environment and the other way round.
    private var supervisorBox: Supervisor?

    init(
        publisher: EventPublisher,
        workers: [WorkerSpecification],
        strategy: RestartStrategy,
        intensity: RestartIntensity,
        automaticShutdown: AutomaticShutdown = .never,
        startOrder: StartOrder = .together,
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
        self.automaticShutdown = automaticShutdown
        self.startOrder = startOrder
        self.output = output
        reports = ReportLine(publisher: publisher, poller: poller)
        statusBoard = StatusBoard()
        deadLetters = DeadLetterStore(bounds: bounds, reports: reports)
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
        append(workers)
        supervisorBox = Supervisor(
            specifications: specifications.map(\.child),
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startsInSequence: startOrder == .inSequence,
            environment: self
        )
    }

    var supervisor: Supervisor? { lock.withLock { supervisorBox } }

    /// The way to each worker, by index, also to those that were removed.
    var routes: [Route] { lock.withLock { routesNow } }

    var outputs: [OutputGate] { lock.withLock { outputsNow } }

    /// The workers that were not removed.
    var indices: [Int] { lock.withLock { routesNow.indices.filter { !removed.contains($0) } } }

    var hostIncarnation: UInt64 { publisher.source.incarnation }

    var status: [ChildStatus] { statusByIndex.map(\.status) }

    /// Of the workers that were not removed.
    var statusByIndex: [(index: Int, status: ChildStatus)] {
        let all = supervisor?.status ?? []
        return indices.filter(all.indices.contains).map { ($0, filled(all[$0], of: $0)) }
    }

    /// The status of the worker with this index, with what supervision does not know of it.
    func filled(_ status: ChildStatus, of index: Int) -> ChildStatus {
        var status = usages.filling(in: status, of: index)
        if status.ended != nil, let incarnation = lock.withLock({ incarnations[index][status.starts] }) {
            status.waitsFor = router.whatKeeps(incarnation.link, of: routes[index])
        }
        return status
    }

    /// Of the worker with this index; nil if it was removed.
    func status(at index: Int) -> ChildStatus? {
        guard let status = supervisor?.status, indices.contains(index), status.indices.contains(index) else {
            return nil
        }
        return filled(status[index], of: index)
    }

    /// Of the worker of this name, or of all members of the pool.
    func indices(of worker: String) -> [Int] {
        lock.withLock {
            routesNow.indices.filter { index in
                let route = routesNow[index]
                return !removed.contains(index) && (route.peerName == worker || route.pool?.name == worker)
            }
        }
    }

    /// The pool of this name; nil if it is none.
    func pool(named name: String) -> WorkerPool? { lock.withLock { pools[name] } }

    // MARK: - Workers that come and go

    /// Adds what is known of workers, behind all others.
    ///
    /// - Returns: Their indices: those that the supervisor gives them.
    @discardableResult
    func append(_ workers: [WorkerSpecification]) -> Range<Int> {
        var made: [(specification: WorkerSpecification, route: Route, output: OutputGate)] = []
        for worker in workers {
            let pool = worker.routePool
            for member in worker.members { made.append((member, route(to: member, pool), gate(for: member))) }
        }
        statusBoard.add(made.map(\.specification.name))
        return lock.withLock {
            let first = routesNow.count
            for (specification, route, output) in made {
                specifications.append(specification)
                routesNow.append(route)
                outputsNow.append(output)
                incarnations.append(IncarnationTable())
            }
            for worker in workers { pools[worker.name] = worker.pool }
            return first..<routesNow.count
        }
    }

    private func route(to worker: WorkerSpecification, _ pool: RoutePool?) -> Route {
        let route = Route(
            peerName: worker.name,
            role: .host,
            ownSource: publisher.source,
            limits: worker.limits.link,
            specified: EventName.set(worker.subscribes),
            strikes: worker.limits.strikes,
            isRenewed: true,
            poller: poller
        )
        route.pool = pool
        // Until it is told otherwise: it is not started yet.
        route.setStartsByItself(false)
        return route
    }

    private func gate(for worker: WorkerSpecification) -> OutputGate {
        OutputGate(
            worker: worker.name,
            rate: worker.limits.output,
            reports: reports,
            poller: poller,
            closure: output
        )
    }

    /// Asks the supervisor for the end of a worker for good, and returns when nothing is left of it.
    func removeChild(_ index: Int) async {
        await withCheckedContinuation { continuation in
            lock.withLock { removalWaiters[index] = continuation }
            supervisor?.removeChildRequested(index: index)
        }
    }

    func childRemoved(index: Int) {
        let route = routes[index]
        route.close(because: "it was removed")
        router.retire(route)
        outputs[index].tell()
        statusBoard.remove(index)
        usages.forget(index)
        let waiter = lock.withLock {
            removed.insert(index)
            stoppedOnRequest.remove(route.peerName)
            pools[route.pool?.name ?? route.peerName] = nil
            incarnations[index] = IncarnationTable()
            (routesNow[index], outputsNow[index], specifications[index]) = vacancy
            return removalWaiters.removeValue(forKey: index)
        }
        waiter?.resume()
    }

    private func makeVacancy() -> (Route, OutputGate, WorkerSpecification) {
        let specification = WorkerSpecification("removed", executable: .path(""))
        let route = route(to: specification, nil)
        route.close(because: "it was removed")
        return (route, gate(for: specification), specification)
    }

    // MARK: - Requests

    /// Begins to carry events, to and from whoever is there.
    func startRouting() {
        for route in routes { router.add(route) }
        router.start()
    }

    /// Where the request to start is, which the supervisor takes at most once, and not after one to stop: it would start everything again.
    private enum StartRequest {
        case outstanding
        /// On its way to the supervisor: a stop waits until it is there, and so do hurries, which are counted.
        case underWay(hurries: Int)
        case made
    }

    /// - Returns: Nil if a stop was asked for before: then nothing was started, and nothing will be.
    func start() async -> Result<Void, StartupFailure>? {
        await withCheckedContinuation { continuation in
            let mayStart = lock.withLock {
                guard !isStopRequested else { return false }
                startWaiter = continuation
                startRequest = .underWay(hurries: 0)
                return true
            }
            guard mayStart else { return continuation.resume(returning: nil) }
            supervisor?.startRequested()
            let (isToStop, hurries): (Bool, Int) = lock.withLock {
                defer { startRequest = .made }
                if case .underWay(let hurries) = startRequest { return (isStopRequested, hurries) }
                return (isStopRequested, 0)
            }
            if isToStop { supervisor?.stopRequested() }
            for _ in 0..<hurries { supervisor?.stopHurried() }
        }
    }

    func stop() async {
        await withCheckedContinuation { continuation in
            let (isDone, isNext): (Bool, Bool) = lock.withLock {
                if !isStopped { stopWaiters.append(continuation) }
                isStopRequested = true
                if case .underWay = startRequest { return (isStopped, false) }
                return (isStopped, true)
            }
            if isDone { continuation.resume() } else if isNext { supervisor?.stopRequested() }
        }
        await launcher.end(on: poller)
        // What has been read of their output by now is counted.
        await withCheckedContinuation { continuation in
            if !poller.perform({ continuation.resume() }) { continuation.resume() }
        }
        for output in outputs { output.tell() }
        await reports.passed()
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

    /// Nothing before the start: there is nobody to be stopped.
    func hurry() {
        let isStarted = lock.withLock {
            switch startRequest {
            case .outstanding: return false
            case .underWay(let hurries):
                startRequest = .underWay(hurries: hurries + 1)
                return false
            case .made: return true
            }
        }
        if isStarted { supervisor?.stopHurried() }
    }

    func restart(_ index: Int) {
        let name = routes[index].peerName
        lock.withLock { _ = stoppedOnRequest.remove(name) }
        routes[index].forgetDeadLetters()
        supervisor?.restartRequested(index: index)
    }

    func stopWorker(_ index: Int) {
        // One that has come to rest by itself, or is removed, is stopped by nobody. One that was added and not started yet is.
        let isStopped = status(at: index).map { !$0.state.isAtRest || $0.state == .idle } ?? false
        lock.withLock {
            if isStopped, !removed.contains(index) { stoppedOnRequest.insert(routesNow[index].peerName) }
        }
        supervisor?.stopChildRequested(index: index)
    }

    /// Whether somebody has stopped a worker who may ask for it again; at the end of all nobody may.
    var hasStoppedOnRequest: Bool { !router.hasClosedIntake && lock.withLock { !stoppedOnRequest.isEmpty } }

    /// Ends everything at once: nobody holds the bridge any more.
    func abandon() {
        router.stop()
        statusBoard.finish()
        for incarnation in lock.withLock({ incarnations.flatMap(\.all) }) { incarnation.abandon() }
        poller.stop()
    }

    /// What lies in each worker's outbox: events that were accepted and not handled.
    var leftovers: [(worker: String, events: Int)] {
        presentRoutes.map { ($0.peerName, $0.link.outboxDepth.events) }.filter { $0.events > 0 }
    }

    var statistics: [WorkerStatistics] { presentRoutes.map { WorkerStatistics(worker: $0.peerName, $0.statistics) } }

    private var presentRoutes: [Route] {
        lock.withLock { routesNow.indices.filter { !removed.contains($0) }.map { routesNow[$0] } }
    }

    // MARK: - What the supervisor concludes

    func startupFinished(_ result: Result<Void, StartupFailure>) {
        guard let waiter = lock.withLock({ startWaiter.take() }) else { return }
        // Who hears that all are ready has been told of each.
        reports.whenPassed { waiter.resume(returning: result) }
    }

    func allStopped() {
        // How they have ended still goes to those who are attached: before the publisher is let go.
        router.whenReported { [self] in
            router.stop()
            statusBoard.finish()
            let waiters = lock.withLock {
                isStopped = true
                defer { stopWaiters = [] }
                return stopWaiters
            }
            for waiter in waiters { waiter.resume() }
        }
    }
}
