import Locks

/// Keeps children running: owns the state machine, takes inputs from any thread and performs the machine's actions.
///
/// The lock is held for a transition only. Actions are performed outside it, by one thread at a time and in the order
/// in which they were decided. A thread that brings an input meanwhile leaves the input's actions to that one thread.
/// So a method may return before the actions of its input are done; ``whenPerformed(_:)`` waits for them.
///
/// The environment owns the supervisor, so the supervisor does not keep the environment alive. Once the environment is
/// gone, the supervisor does nothing any more.
///
/// `@unchecked Sendable` is sound: the mutable properties are touched only with the lock held.
package final class Supervisor: @unchecked Sendable {
    private let lock = Lock()
    private var machine: SupervisorStateMachine
    private var pending: [SupervisorAction] = []
    private var isPerforming = false
    /// Called when the actions that are pending have been performed.
    private var awaiting: [@Sendable () -> Void] = []
    /// The timers that run; a timer that is just being made has no handle yet.
    private var timers: [TimerToken: (any SupervisorTimer)?] = [:]
    private weak let environment: (any SupervisorEnvironment)?

    /// Makes a supervisor for these children, in start order; the specifications have to be valid.
    package init(
        specifications: [ChildSpecification],
        strategy: RestartStrategy = .oneForOne,
        intensity: RestartIntensity = RestartIntensity(),
        automaticShutdown: AutomaticShutdown = .never,
        startsInSequence: Bool = false,
        seed: UInt64 = Randomness.next(),
        environment: any SupervisorEnvironment
    ) {
        machine = SupervisorStateMachine(
            specifications: specifications,
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startsInSequence: startsInSequence,
            seed: seed
        )
        self.environment = environment
    }

    /// A snapshot of every child, in start order, including removed children, of which only the names are kept.
    ///
    /// The latest changes may not have been reported to the environment yet.
    package var status: [ChildStatus] {
        lock.withLock { machine.status }
    }

    /// Whether requests to start or stop a child take effect: from the supervisor's start until its stop is requested.
    package var isRunning: Bool {
        lock.withLock { machine.mode == .running }
    }

    /// Whether a child was given up, or will be as soon as its process has ended.
    package func isGivenUp(index: Int) -> Bool {
        lock.withLock { machine.isGivenUp(index) }
    }

    // MARK: Requests

    /// Starts all children that are not on demand; the environment's `startupFinished` gets the outcome.
    ///
    /// A supervisor that runs or is stopping ignores the request.
    package func startRequested() { take(.startRequested) }

    /// Stops all children in reverse order, one after the other, and then calls the environment's `allStopped`.
    package func stopRequested() { take(.stopRequested) }

    /// Makes a stop quicker: the first call ends all children at once without draining, the second by SIGKILL.
    ///
    /// The call begins the stop if the stop has not begun.
    package func stopEscalated() { take(.stopEscalated) }

    /// Starts a child again and forgets its failures; a live child is stopped first.
    package func restartRequested(index: Int) { take(.restartRequested(index: index)) }

    /// Starts another process beside a child's present one, and then lets the present one hand over to it.
    ///
    /// If the child is down, only its specification changes. The environment's `replacementConcluded` gets the outcome.
    package func replaceRequested(index: Int, _ request: ReplacementRequest) {
        take(.replaceRequested(index: index, request))
    }

    /// Calls off a replacement that is not handing over yet; a replacement that is handing over goes on.
    package func replacementCalledOff(request: Int) { take(.replacementCalledOff(request: request)) }

    /// Stops a child until its restart is requested.
    package func stopChildRequested(index: Int) { take(.stopChildRequested(index: index)) }

    /// Adds children at the end of the start order; their specifications have to be valid.
    ///
    /// They stay down until ``startChildRequested(index:)``, or until the supervisor's own start.
    package func childrenAdded(_ specifications: [ChildSpecification]) { take(.childrenAdded(specifications)) }

    /// Starts a child that was added; the child's status shows whether the start has succeeded.
    package func startChildRequested(index: Int) { take(.startChildRequested(index: index)) }

    /// Notes that a child's removal will be requested soon: the child goes on, but its end no longer ends the others.
    package func removalPlanned(index: Int) { take(.removalPlanned(index: index)) }

    /// Stops a child for good, and then calls the environment's `childRemoved`, even if the supervisor has stopped.
    package func removeChildRequested(index: Int) { take(.removeChildRequested(index: index)) }

    // MARK: News of a child's process

    /// The child has a process now; the process's deadline to be ready begins to run.
    package func childSpawned(index: Int, start: Int, pid: Int32) {
        take(.childSpawned(index: index, start: start, pid: pid))
    }

    /// The child got no process; the reason says why.
    package func childSpawnFailed(index: Int, start: Int, reason: ExitReason) {
        take(.childSpawnFailed(index: index, start: start, reason: reason))
    }

    /// The child has finished its handshake and subscribed to what it has to.
    package func childBecameReady(index: Int, start: Int) {
        take(.childBecameReady(index: index, start: start))
    }

    /// The child's process has ended, but the environment still handles what the process has left.
    ///
    /// The child is not started again before ``childExited(index:start:reason:isOrderly:blame:)``.
    package func childProcessEnded(index: Int, start: Int, reason: ExitReason) {
        take(.childProcessEnded(index: index, start: start, reason: reason))
    }

    /// The child's process has ended; the environment calls this for each spawned process once nothing is left of it.
    ///
    /// - Parameters:
    ///   - isOrderly: whether the child had said goodbye; if so, and without a fault, the end is normal.
    ///   - blame: whether the end counts towards giving the child up, or the child is given up at once.
    package func childExited(
        index: Int,
        start: Int,
        reason: ExitReason,
        isOrderly: Bool = false,
        blame: ExitBlame = .child
    ) {
        take(
            .childExited(index: index, start: start, reason: reason, isOrderly: isOrderly, blame: blame)
        )
    }

    /// The child did what it must not do: the supervisor ends the child and remembers this reason.
    package func childViolated(index: Int, start: Int, reason: ExitReason) {
        take(.childViolated(index: index, start: start, reason: reason))
    }

    /// The child gave no sign of life for longer than its heartbeat allows.
    package func heartbeatMissed(index: Int, start: Int, after time: Duration, busyWith: String? = nil) {
        take(.heartbeatMissed(index: index, start: start, after: time, busyWith: busyWith))
    }

    /// The child had not finished this event when the deadline of its handlers passed.
    package func handlerTimedOut(index: Int, start: Int, event: String, after time: Duration) {
        take(.handlerTimedOut(index: index, start: start, event: event, after: time))
    }

    /// The child's goodbye came, whether or not the child was asked to end; its process has yet to end.
    package func childDrained(index: Int, start: Int) {
        take(.childDrained(index: index, start: start))
    }

    /// The child asks for this much time from now to become ready or to drain, and says what it is doing.
    ///
    /// The time may be zero. An empty text leaves what the child said before.
    package func childAskedForTime(index: Int, start: Int, more: Duration, because reason: String = "") {
        take(.childAskedForTime(index: index, start: start, more: more, because: reason))
    }

    /// The child is on demand and was idle for its idle time; what comes from now on waits for its next start.
    ///
    /// If the child stays up for now, the supervisor calls the environment's `letEventsLeave`.
    package func childIdled(index: Int, start: Int) {
        take(.childIdled(index: index, start: start))
    }

    /// Something waits for a child: the answer to `watchDemand`.
    package func demandArose(index: Int) { take(.demandArose(index: index)) }

    // MARK: Performing

    /// Calls `body` when the actions of all inputs so far have been performed: at once if none is left.
    package func whenPerformed(_ body: @escaping @Sendable () -> Void) {
        let isDone = lock.withLock {
            if isPerforming { awaiting.append(body) }
            return !isPerforming
        }
        if isDone { body() }
    }

    private func take(_ input: SupervisorInput) {
        guard let environment else { return }
        let now = environment.now
        let mayPerform = lock.withLock {
            if case .timerFired(let token) = input { timers[token] = nil }
            pending += machine.handle(input, at: now)
            defer { isPerforming = true }
            return !isPerforming
        }
        guard mayPerform else { return }
        while let (actions, awaiting) = nextBatch() {
            for action in actions { perform(action, in: environment) }
            for body in awaiting { body() }
        }
    }

    /// Gives a child that is late its time again if a debugger holds its process; passes any other timer on.
    private func timerFired(_ token: TimerToken) {
        let late = lock.withLock { machine.childThatIsLate(by: token) }
        if let late, environment?.isBeingDebugged(index: late.index, start: late.start) == true {
            take(late.grace)
        } else {
            take(.timerFired(token))
        }
    }

    /// Takes the actions to perform next, and what to call afterwards; if there is neither, ends the performing.
    private func nextBatch() -> (actions: [SupervisorAction], awaiting: [@Sendable () -> Void])? {
        lock.withLock {
            defer { (pending, awaiting) = ([], []) }
            isPerforming = !pending.isEmpty || !awaiting.isEmpty
            return isPerforming ? (pending, awaiting) : nil
        }
    }

    private func perform(_ action: SupervisorAction, in environment: any SupervisorEnvironment) {
        switch action {
        case .spawn(let index, let start): environment.launch(index: index, start: start)
        case .sendDrain(let index, let grace): environment.drain(index: index, within: grace)
        case .watchDemand(let index): environment.watchDemand(index: index)
        case .signal(let index, let signal): environment.signal(index: index, signal)
        case .spawnSuccessor(let index, let start, let request):
            environment.launchSuccessor(index: index, start: start, request: request)
        case .signalSuccessor(let index, let signal): environment.signalSuccessor(index: index, signal)
        case .adoptSpecification(let index, let request):
            environment.adoptSpecification(index: index, request: request)
        case .keepEvents(let index): environment.keepEvents(index: index)
        case .letEventsLeave(let index): environment.letEventsLeave(index: index)
        case .cutOver(let index, let start): environment.cutOver(index: index, start: start)
        case .concludeReplacement(let request, let outcome):
            environment.replacementConcluded(request: request, outcome)
        case .startTimer(let token, let delay): startTimer(token, after: delay, in: environment)
        case .cancelTimer(let token):
            lock.withLock { timers.removeValue(forKey: token) ?? nil }?.cancel()
        case .report(let index, let status, let reason):
            environment.statusChanged(index: index, status, reason: reason)
        case .finishStartup(nil): environment.startupFinished(.success(()))
        case .finishStartup(let failure?): environment.startupFinished(.failure(failure))
        case .announceAutomaticShutdown(let index): environment.automaticShutdownBegan(index: index)
        case .announceRemoval(let index):
            environment.childRemoved(index: index)
            // Only now: until the call has returned, the environment may show the child's status.
            lock.withLock { machine.forget(index) }
        case .announceAllStopped: environment.allStopped()
        }
    }

    private func startTimer(_ token: TimerToken, after delay: Duration, in environment: any SupervisorEnvironment) {
        lock.withLock { timers[token] = .some(nil) }
        let timer = environment.schedule(after: delay) { [weak self] in self?.timerFired(token) }
        lock.withLock {
            // The timer may have fired already: then nothing needs its handle any more.
            if timers.keys.contains(token) { timers[token] = .some(timer) }
        }
    }
}
