/// How children come up: the supervisor's start, launches, and what a new process reports.
extension SupervisorStateMachine {
    mutating func start() {
        guard mode == .notStarted || mode == .stopped else { return }
        mode = .running
        escalations = 0
        isEndingWithSignificant = false
        sharedWindow.clear()
        startupIsOpen = true
        for index in children.indices where !children[index].isRemoved {
            children[index].wasReady = false
            // The start does not wait for a child on demand: that child may stay down for any time.
            children[index].isAwaited = !children[index].isOnDemand
            queueAnew(index)
            if children[index].isOnDemand { fallDormant(index) }
        }
    }

    /// Forgets the failures so far and puts the child in line to be launched.
    mutating func queueAnew(_ index: Int) {
        children[index].failures = 0
        children[index].window.clear()
        children[index].phase = .queued
    }

    /// Starts a child again; a child on demand only when something waits for it.
    mutating func comeBack(_ index: Int) {
        if children[index].isOnDemand { fallDormant(index) } else { launchAgain(index) }
    }

    private mutating func launchAgain(_ index: Int) {
        children[index].restarts += 1
        launch(index)
    }

    private mutating func launch(_ index: Int) {
        children[index].phase = .spawning(thenStop: nil)
        children[index].intent = .run
        children[index].isWanted = false
        children[index].launches += 1
        children[index].start = children[index].launches
        children[index].verdict = nil
        children[index].saidGoodbye = false
        children[index].readySince = nil
        children[index].time = TimeLimit(launchedAt: now)
        actions.append(.spawn(index: index, start: children[index].start))
    }

    mutating func launchQueued() {
        for index in children.indices where children[index].phase == .queued {
            // No sibling depends on a child that stands alone.
            let isLate = { (child: SupervisedChild) in child.isOnItsWay && !child.specification.standsAlone }
            if startsInSequence, children[..<index].contains(where: isLate) { return }
            launch(index)
        }
    }

    mutating func noteSpawned(_ index: Int, pid: Int32) {
        children[index].pid = pid
        children[index].hasRun = true
        // A quick child may have become ready before the news of its process came.
        guard case .spawning(let ending) = children[index].phase else { return }
        if let ending {
            beginEnding(index, by: ending)
        } else {
            let timeout = children[index].specification.handshakeTimeout.clampedToAllowed
            children[index].time.startBegan(within: timeout, at: now)
            children[index].phase = .starting(startTimer(after: timeout))
            // A quick child may have asked for more time before this news came.
            keepPromise(index)
        }
    }

    mutating func noteReady(_ index: Int) {
        switch children[index].phase {
        case .spawning(thenStop: let ending?): beginEnding(index, by: ending)
        case .spawning, .starting:
            cancelTimer(of: index)
            children[index].phase = .ready
            children[index].readySince = now
            children[index].time.becameReady()
            children[index].wasReady = true
            children[index].hasRun = true
        case .notStarted, .queued, .ready, .stopping, .backingOff, .waiting, .dormant, .stopped, .gaveUp: break
        }
    }

    /// Gives more time, counted from now, to a child that is slow to come up or to drain, and notes what it is doing.
    mutating func extend(_ index: Int, by more: Duration, because reason: String) {
        children[index].time.askedForTime(more, because: reason, at: now)
        keepPromise(index)
    }

    /// Moves the deadline of a child's phase to the end of the time that the child has asked for, if that end is later.
    mutating func keepPromise(_ index: Int) {
        switch children[index].phase {
        case .starting:
            guard let left = children[index].time.keepPromise(at: now) else { return }
            cancelTimer(of: index)
            children[index].phase = .starting(startTimer(after: left))
        case .stopping(var stopping) where stopping.isDraining && !children[index].saidGoodbye:
            guard let left = children[index].time.keepPromise(at: now) else { return }
            cancelTimer(of: index)
            stopping.timer = startTimer(after: left)
            children[index].phase = .stopping(stopping)
        case .notStarted, .queued, .spawning, .ready, .stopping, .backingOff, .waiting, .dormant, .stopped, .gaveUp:
            break
        }
    }

    /// The child whose time to become ready ends with this timer, and the input that gives it that time again; nil for
    /// other timers.
    func childThatIsLate(by token: TimerToken) -> (index: Int, start: Int, grace: SupervisorInput)? {
        for (index, child) in children.enumerated() {
            if case .starting(token) = child.phase {
                return late(index, child.start, child.specification.handshakeTimeout)
            }
            if let next = child.replacement, case .starting(token) = next.phase {
                return late(index, next.start, next.request.specification.handshakeTimeout)
            }
        }
        return nil
    }

    private func late(
        _ index: Int,
        _ start: Int,
        _ time: Duration
    ) -> (index: Int, start: Int, grace: SupervisorInput) {
        let more = max(time, .milliseconds(1))
        return (index, start, .childAskedForTime(index: index, start: start, more: more))
    }

    // MARK: The supervisor's own start

    /// Ends the supervisor's start when it waits for no child any more, or when an awaited child has stopped before it
    /// was ready, or was given up.
    mutating func settleStartup() {
        guard startupIsOpen else { return }
        var isComplete = true
        for child in children.indices where children[child].isMissing {
            switch children[child].phase {
            case .stopped:
                let exit = children[child].lastExit ?? .requested
                return failStartup(child, "it \(exit.predicate) before it was ready")
            case .gaveUp(let reason): return failStartup(child, reason)
            case .notStarted, .queued, .spawning, .starting, .ready, .stopping, .backingOff, .waiting, .dormant:
                isComplete = false
            }
        }
        if isComplete { closeStartup(nil) }
    }

    mutating func failStartup(_ index: Int, _ reason: String) {
        guard startupIsOpen else { return }
        closeStartup(StartupFailure(index: index, name: children[index].specification.name, reason: reason))
    }

    private mutating func closeStartup(_ failure: StartupFailure?) {
        startupIsOpen = false
        for index in children.indices { children[index].isAwaited = false }
        conclusions.append(.finishStartup(failure))
    }
}
