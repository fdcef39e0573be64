/// How children go down: shutdown sequences, faults, goodbyes, and the stop of the supervisor.
extension SupervisorStateMachine {
    /// Ends a child by this sequence, unless it is being ended already.
    mutating func end(_ index: Int, by sequence: ShutdownSequence) {
        switch children[index].phase {
        case .spawning(thenStop: nil): children[index].phase = .spawning(thenStop: sequence)
        case .starting, .ready: beginEnding(index, by: sequence)
        case .notStarted, .queued, .spawning, .stopping, .backingOff, .waiting, .dormant, .stopped, .gaveUp: break
        }
    }

    mutating func beginEnding(_ index: Int, by sequence: ShutdownSequence) {
        cancelTimer(of: index)
        var steps = escalations < 2 ? sequence.steps : []
        // A child that is not ready has no link over which it can be asked to finish.
        if escalations > 0 || children[index].phase != .ready { steps.removeAll(where: \.isDrain) }
        children[index].phase = .stopping(SupervisedChild.Stopping(remaining: steps))
        takeNextStep(index)
    }

    mutating func takeNextStep(_ index: Int) {
        guard case .stopping(var stopping) = children[index].phase else { return }
        if let timer = stopping.timer { actions.append(.cancelTimer(timer)) }
        stopping.timer = nil
        stopping.current = stopping.remaining.isEmpty ? nil : stopping.remaining.removeFirst()
        switch stopping.current {
        case .drain(let grace)?:
            actions.append(.sendDrain(index: index, within: grace.clampedToAllowed))
            return wait(index, in: stopping, for: grace.clampedToAllowed)
        case .signal(let signal, let grace)?:
            actions.append(.signal(index: index, signal))
            return wait(index, in: stopping, for: grace.clampedToAllowed)
        case nil:
            // Nothing comes after SIGKILL: it is sent once, and the kernel does the rest.
            if !stopping.isKilled { actions.append(.signal(index: index, .kill)) }
            stopping.isKilled = true
        }
        children[index].phase = .stopping(stopping)
    }

    /// Waits for a child's end, or for as long as the present step of its end may take.
    private mutating func wait(_ index: Int, in stopping: SupervisedChild.Stopping, for grace: Duration) {
        var stopping = stopping
        stopping.grace = grace
        stopping.timer = startTimer(after: grace)
        children[index].phase = .stopping(stopping)
        children[index].time.stepBegan(within: grace, at: now)
        keepPromise(index)
    }

    /// Goes on with a child's end when the time for its present step is over.
    mutating func timeForStepIsOver(_ index: Int, in stopping: SupervisedChild.Stopping) {
        var stopping = stopping
        stopping.timer = nil
        children[index].phase = .stopping(stopping)
        if stoodStill(beyond: children[index].time.deadline, of: stopping.grace) {
            wait(index, in: stopping, for: stopping.grace)
        } else {
            takeNextStep(index)
        }
    }

    /// Notes that a child drains to hand over, and how long it would drain otherwise.
    mutating func drainsToHandOver(_ index: Int, otherwise own: Duration) {
        guard case .stopping(var stopping) = children[index].phase else { return }
        stopping.ownDrain = own
        children[index].phase = .stopping(stopping)
    }

    /// Cuts the draining of a child that no longer hands over down to the time that its own shutdown allows.
    mutating func limitDrain(_ index: Int) {
        guard case .stopping(var stopping) = children[index].phase, let own = stopping.ownDrain else { return }
        stopping.ownDrain = nil
        children[index].phase = .stopping(stopping)
        guard stopping.isDraining, !children[index].saidGoodbye else { return }
        if own == .zero { return takeNextStep(index) }
        guard now + own < children[index].time.deadline else { return }
        cancelTimer(of: index)
        wait(index, in: stopping, for: own)
    }

    private mutating func kill(_ index: Int) {
        guard case .stopping(var stopping) = children[index].phase else { return }
        stopping.remaining = []
        children[index].phase = .stopping(stopping)
        takeNextStep(index)
    }

    /// Ends a child that has done what it must not do; its `deaths` then show the fault, not the signal.
    mutating func endForFault(_ index: Int, _ reason: ExitReason) {
        if children[index].verdict == nil { children[index].verdict = reason }
        let sequence = reason.endingSequence
        switch children[index].phase {
        case .spawning: children[index].phase = .spawning(thenStop: sequence)
        case .stopping where sequence == .killing: kill(index)
        default: end(index, by: sequence)
        }
    }

    mutating func noteGoodbye(_ index: Int) {
        children[index].saidGoodbye = true
        switch children[index].phase {
        case .starting, .ready:
            // The child leaves of its own accord. Only its process has yet to end, and the time for that is limited.
            cancelTimer(of: index)
            let stopping = SupervisedChild.Stopping(remaining: ShutdownSequence.unready.steps)
            wait(index, in: stopping, for: ShutdownSequence.exitGrace)
        case .stopping(let stopping) where stopping.isDraining:
            cancelTimer(of: index)
            wait(index, in: stopping, for: ShutdownSequence.exitGrace)
        case .notStarted, .queued, .spawning, .stopping, .backingOff, .waiting, .dormant, .stopped, .gaveUp: break
        }
    }

    /// Notes that the process is gone, while the environment still handles what the process has left.
    ///
    /// There is no process to end any more, and nothing to wait for with a timer.
    mutating func noteProcessEnd(_ index: Int, _ reason: ExitReason) {
        switch children[index].phase {
        case .starting, .ready, .stopping:
            cancelTimer(of: index)
            children[index].phase = .stopping(.ended)
            children[index].ended = (reason, children[index].intent != .run)
        case .notStarted, .queued, .spawning, .backingOff, .waiting, .dormant, .stopped, .gaveUp: break
        }
    }

    // MARK: Requests

    mutating func stopForGood(_ index: Int) {
        children[index].isAwaited = false
        children[index].isWanted = false
        if children[index].isLive {
            children[index].intent = .stop
            end(index, by: children[index].specification.shutdown)
        } else if children[index].isToBeStarted || children[index].phase == .notStarted {
            cancelTimer(of: index)
            children[index].phase = .stopped
        }
    }

    /// Begins to stop everything; the children go down in reverse order as `advance` comes to them.
    ///
    /// - Parameter why: what the error of the supervisor's start says of the awaited child, if this stop ends a start.
    mutating func stop(because why: String = "it was \(ExitReason.requested) before it was ready") {
        guard mode == .notStarted || mode == .running else { return }
        mode = .stopping
        if startupIsOpen, let index = children.firstIndex(where: \.isMissing) {
            failStartup(index, why)
        }
        if let timer = groupRestart?.timer { actions.append(.cancelTimer(timer)) }
        groupRestart = nil
        for index in children.indices {
            children[index].isWanted = false
            if children[index].isToBeStarted || children[index].phase == .notStarted {
                cancelTimer(of: index)
                children[index].phase = .stopped
            } else if children[index].isLive, !children[index].isBeingGivenUp {
                children[index].intent = .stop
            }
        }
    }

    mutating func escalate() {
        guard mode == .stopping else { return }
        escalations += 1
        for index in children.indices.reversed() {
            if escalations > 1 { killSuccessor(index) }
            switch children[index].phase {
            case .spawning, .starting, .ready: end(index, by: children[index].specification.shutdown)
            case .stopping where escalations > 1: kill(index)
            case .stopping(var stopping) where stopping.isDraining:
                stopping.remaining.removeAll(where: \.isDrain)
                children[index].phase = .stopping(stopping)
                takeNextStep(index)
            case .notStarted, .queued, .stopping, .backingOff, .waiting, .dormant, .stopped, .gaveUp: break
            }
        }
    }
}

extension ShutdownSequence {
    /// How long a child may drain; zero if it is not asked to.
    var drainGrace: Duration {
        for step in steps { if case .drain(let grace) = step { return grace.clampedToAllowed } }
        return .zero
    }
}

extension ShutdownSequence.Step {
    var isDrain: Bool {
        if case .drain = self { true } else { false }
    }
}

extension SupervisedChild {
    var isBeingGivenUp: Bool {
        if case .giveUp = intent { true } else { false }
    }
}

extension ExitReason {
    /// How a child with this fault is ended.
    var endingSequence: ShutdownSequence {
        switch self {
        // SIGABRT leaves a core that shows where the child hangs.
        case .unresponsive, .handlerTimedOut: .unresponsive
        // The child may still be reading why its hello was rejected, or be about to say why it is slow.
        case .handshakeTimedOut, .handshakeRejected: .unready
        // Nothing that the child still does can be relied on.
        default: .killing
        }
    }
}
