/// Decides what a supervisor does: inputs go in, actions come out, and nothing else is touched.
///
/// Every state takes every input, and ignores an input that does not apply any more, such as news of a dead incarnation
/// or a timer of a finished phase. A child has at most one live incarnation, and beside it at most one that is to take
/// its place. Once the end of a process was reported, the machine requests no more actions on that process. Time comes
/// with each input and has to be monotonic.
package struct SupervisorStateMachine: Sendable {
    enum Mode: Hashable, Sendable {
        case notStarted
        case running
        case stopping
        case stopped
    }

    let strategy: RestartStrategy
    let intensity: RestartIntensity
    let automaticShutdown: AutomaticShutdown
    let startsInSequence: Bool
    var mode = Mode.notStarted
    var children: [SupervisedChild]
    var groupRestart: GroupRestart?
    /// The window that the children share under a strategy that restarts several of them.
    var sharedWindow = RestartWindow()
    var startupIsOpen = false
    /// The significant child that has just come to rest of its own accord.
    var endedSignificant: Int?
    /// Whether the environment was told that all children are to end because a significant child has ended.
    var isEndingWithSignificant = false
    /// How often the stop was escalated.
    var escalations = 0
    var now = Duration.zero
    var actions: [SupervisorAction] = []
    /// Actions that come after all others of a transition.
    var conclusions: [SupervisorAction] = []
    private var random: SplitMix64
    private var lastTimer: UInt64 = 0

    /// Makes a machine for these children, in start order.
    ///
    /// - Parameters:
    ///   - startsInSequence: whether children wait as ``StartOrder/inSequence`` says; otherwise all start at once.
    ///   - seed: the seed of the random numbers for the back-off's jitter.
    package init(
        specifications: [ChildSpecification],
        strategy: RestartStrategy = .oneForOne,
        intensity: RestartIntensity = RestartIntensity(),
        automaticShutdown: AutomaticShutdown = .never,
        startsInSequence: Bool = false,
        seed: UInt64
    ) {
        self.strategy = strategy
        self.intensity = intensity
        self.automaticShutdown = automaticShutdown
        self.startsInSequence = startsInSequence
        children = specifications.map(SupervisedChild.init)
        random = SplitMix64(seed: seed)
    }

    /// The status of each child, in start order; until a removed child is forgotten, its status says how it has ended.
    package var status: [ChildStatus] {
        children.map { $0.status(groupRestart: groupRestart) }
    }

    /// Takes an input and says what is to be done, in order.
    package mutating func handle(_ input: SupervisorInput, at now: Duration) -> [SupervisorAction] {
        // Of two threads, the one that reads the clock first may come here second.
        self.now = max(self.now, now)
        take(input)
        advance()
        reportChanges()
        defer {
            actions = []
            conclusions = []
        }
        return actions + conclusions
    }

    private mutating func take(_ input: SupervisorInput) {
        if let (index, start) = input.subject, isSuccessor(index, start) {
            return takeNewsOfSuccessor(index, input)
        }
        switch input {
        case .startRequested: start()
        case .childSpawned(let index, let start, let pid):
            if isCurrent(index, start) { noteSpawned(index, pid: pid) }
        case .childSpawnFailed(let index, let start, let reason):
            if isCurrent(index, start), case .spawning = children[index].phase {
                noteEnd(index, reason, isOrderly: false, blame: .child)
            }
        case .childBecameReady(let index, let start):
            if isCurrent(index, start) { noteReady(index) }
        case .childProcessEnded(let index, let start, let reason):
            if isCurrent(index, start) { noteProcessEnd(index, reason) }
        case .childExited(let index, let start, let reason, let isOrderly, let blame):
            if isCurrent(index, start) { noteEnd(index, reason, isOrderly: isOrderly, blame: blame) }
        case .childViolated(let index, let start, let reason):
            if isCurrent(index, start) { endForFault(index, reason) }
        case .heartbeatMissed(let index, let start, let time, let busyWith):
            // Silence counts only while the child is ready: before that its handshake has a deadline, and in a stop
            // each step has a grace.
            if isCurrent(index, start), children[index].phase == .ready {
                endForFault(index, .unresponsive(after: time, busyWith: busyWith))
            }
        case .handlerTimedOut(let index, let start, let event, let time):
            // A child that is being stopped has a grace for each step instead.
            if isCurrent(index, start), children[index].phase == .ready {
                endForFault(index, .handlerTimedOut(event: event, after: time))
            }
        case .childDrained(let index, let start):
            if isCurrent(index, start) { noteGoodbye(index) }
        case .childAskedForTime(let index, let start, let more, let reason):
            if isCurrent(index, start) { extend(index, by: more, because: reason) }
        case .childIdled(let index, let start):
            if isCurrent(index, start) { noteIdle(index) }
        case .demandArose(let index): noteDemand(index)
        case .timerFired(let token): noteFired(token)
        case .restartRequested(let index):
            if mode == .running, isPresent(index) { restart(index) }
        case .replaceRequested(let index, let request): replace(index, request)
        case .replacementCalledOff(let request): callOff(request: request)
        case .stopChildRequested(let index):
            if mode == .running, isPresent(index) { stopForGood(index) }
        case .childrenAdded(let specifications): add(specifications)
        case .startChildRequested(let index): startAdded(index)
        case .removalPlanned(let index): planRemoval(index)
        case .removeChildRequested(let index): remove(index)
        case .stopRequested: stop()
        case .stopEscalated:
            stop()
            escalate()
        }
    }

    /// Whether an input is about a process that lives, as far as the machine knows.
    private func isCurrent(_ index: Int, _ start: Int) -> Bool {
        children.indices.contains(index) && children[index].isLive && children[index].start == start
    }

    /// Does what has become possible: stops the next child in order, begins the group's back-off, or starts children.
    private mutating func advance() {
        settleStartup()
        shutDownWithSignificant()
        callOffReplacements()
        settleRemovals()
        if let index = children.indices.last(where: { isStoppedInOrder(children[$0]) }) {
            if !children[index].isBeingStopped { end(index, by: children[index].specification.shutdown) }
        } else if mode == .stopping {
            // The stop also waits for each process that was to take a child's place.
            if !children.contains(where: { $0.replacement != nil }) {
                mode = .stopped
                conclusions.append(.announceAllStopped)
            }
        } else {
            startGroupTimer()
        }
        launchQueued()
        settleStartup()
    }

    /// Whether a child has to go down in turn: one child after the other, the last one first.
    private func isStoppedInOrder(_ child: SupervisedChild) -> Bool {
        guard child.isLive else { return false }
        if mode == .stopping { return true }
        switch child.intent {
        case .rejoin, .giveUp: return true
        case .run, .stop, .restart, .rest, .handOver: return false
        }
    }

    private mutating func reportChanges() {
        for index in children.indices {
            let status = children[index].status(groupRestart: groupRestart)
            let reason = children[index].diedOf
            if status != children[index].reported || reason != nil {
                actions.append(.report(index: index, status, reason: reason))
                children[index].reported = status
                children[index].diedOf = nil
            }
        }
    }

    // MARK: Timers

    mutating func startTimer(after delay: Duration) -> TimerToken {
        lastTimer += 1
        let token = TimerToken(number: lastTimer)
        actions.append(.startTimer(token, after: delay))
        return token
    }

    mutating func cancelTimer(of index: Int) {
        if let timer = children[index].timer { actions.append(.cancelTimer(timer)) }
    }

    private mutating func noteFired(_ token: TimerToken) {
        if groupRestart?.timer == token {
            groupRestart?.timer = nil
            launchGroup()
            return
        }
        guard let index = children.firstIndex(where: { $0.timer == token }) else { return noteFiredForSuccessor(token) }
        switch children[index].phase {
        case .starting:
            children[index].phase = .starting(nil)
            let child = children[index]
            if stoodStill(beyond: child.time.deadline, of: child.specification.handshakeTimeout) {
                return extend(index, by: child.specification.handshakeTimeout, because: "")
            }
            endForFault(index, .handshakeTimedOut(after: child.time.readiness, saying: child.time.statedReason))
        case .backingOff: comeBack(index)
        case .stopping(let stopping): timeForStepIsOver(index, in: stopping)
        case .notStarted, .queued, .spawning, .ready, .waiting, .dormant, .stopped, .gaveUp: break
        }
    }

    /// Whether a timer fires so late that this process, or the whole machine, must have stood still.
    ///
    /// In that case the child could not use its time, and gets it again.
    func stoodStill(beyond deadline: Duration, of allowance: Duration) -> Bool {
        now - deadline > max(allowance.clampedToAllowed / 2, Self.busySlack)
    }

    /// By how much a timer may be late on a machine that is merely busy.
    private static let busySlack = Duration.milliseconds(50)

    mutating func backoffDelay(of index: Int) -> Duration {
        children[index].specification.backoff
            .delay(afterFailures: children[index].failures, using: &random)
            .clampedToAllowed
    }
}

extension Duration {
    /// The nearest allowed duration: a specification that was not validated must not overflow the sums of times.
    var clampedToAllowed: Duration { min(max(self, .zero), .longestAllowed) }
}
