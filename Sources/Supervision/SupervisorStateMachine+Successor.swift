/// The life of the process that is to take a child's place: its start, its faults, and its end if it does not take that
/// place.
extension SupervisorStateMachine {
    /// Whether an input is about the process that comes up beside a child's present one.
    func isSuccessor(_ index: Int, _ start: Int) -> Bool {
        children.indices.contains(index) && children[index].replacement?.start == start
    }

    mutating func takeNewsOfSuccessor(_ index: Int, _ input: SupervisorInput) {
        switch input {
        case .childSpawned(_, _, let pid): noteSuccessorSpawned(index, pid: pid)
        case .childSpawnFailed(_, _, let reason):
            if children[index].replacement?.phase == .spawning { noteSuccessorEnd(index, reason) }
        case .childBecameReady: noteSuccessorReady(index)
        case .childProcessEnded(_, _, let reason): noteSuccessorProcessEnd(index, reason)
        case .childExited(_, _, let reason, _, _): noteSuccessorEnd(index, reason)
        case .childViolated(_, _, let reason): failSuccessor(index, reason)
        case .heartbeatMissed(_, _, let time, let busyWith):
            if children[index].replacement?.phase == .ready {
                failSuccessor(index, .unresponsive(after: time, busyWith: busyWith))
            }
        case .childDrained: noteSuccessorGoodbye(index)
        case .childAskedForTime(_, _, let more, let reason): extendSuccessor(index, by: more, because: reason)
        // The process has no events yet.
        case .handlerTimedOut, .childIdled: break
        case .startRequested, .demandArose, .timerFired, .restartRequested, .replaceRequested, .replacementCalledOff,
            .stopChildRequested, .stopRequested, .stopEscalated, .childrenAdded, .startChildRequested,
            .removalPlanned, .removeChildRequested:
            break
        }
    }

    // MARK: Its start

    private mutating func noteSuccessorSpawned(_ index: Int, pid: Int32) {
        children[index].replacement?.pid = pid
        guard let next = children[index].replacement, next.phase == .spawning else { return }
        if next.outcome != nil { return endSuccessor(index, by: .unready) }
        let timeout = next.request.specification.handshakeTimeout.clampedToAllowed
        children[index].replacement?.time.startBegan(within: timeout, at: now)
        let timer = startTimer(after: timeout)
        children[index].replacement?.phase = .starting(timer)
        keepPromiseOfSuccessor(index)
    }

    private mutating func noteSuccessorReady(_ index: Int) {
        guard let next = children[index].replacement else { return }
        switch next.phase {
        case .spawning where next.outcome != nil: endSuccessor(index, by: .unready)
        case .spawning, .starting:
            cancelTimerOfSuccessor(index)
            children[index].replacement?.time.becameReady()
            children[index].replacement?.phase = .ready
            handOver(index)
        case .ready, .stopping: break
        }
    }

    private mutating func extendSuccessor(_ index: Int, by more: Duration, because reason: String) {
        children[index].replacement?.time.askedForTime(more, because: reason, at: now)
        keepPromiseOfSuccessor(index)
    }

    private mutating func keepPromiseOfSuccessor(_ index: Int) {
        guard case .starting? = children[index].replacement?.phase,
            let left = children[index].replacement?.time.keepPromise(at: now)
        else { return }
        cancelTimerOfSuccessor(index)
        let timer = startTimer(after: left)
        children[index].replacement?.phase = .starting(timer)
    }

    // MARK: Its end

    /// Fails the replacement, because the new process has done what it must not do.
    private mutating func failSuccessor(_ index: Int, _ reason: ExitReason) {
        guard let next = children[index].replacement else { return }
        settleReplacement(index, next.failure(reason), endingBy: reason.endingSequence)
    }

    /// Notes that the new process leaves of its own accord.
    private mutating func noteSuccessorGoodbye(_ index: Int) {
        guard let next = children[index].replacement, next.outcome == nil else { return }
        settleReplacement(index, .failed("its new process said goodbye before it took over"), endingBy: .unready)
    }

    /// Notes that the new process is gone: it no longer takes the present one's place, and there is no process to end.
    private mutating func noteSuccessorProcessEnd(_ index: Int, _ reason: ExitReason) {
        guard let next = children[index].replacement, next.phase != .spawning else { return }
        cancelTimerOfSuccessor(index)
        if next.outcome == nil { children[index].replacement?.outcome = next.failure(reason) }
        handOverIsOff(index)
        children[index].replacement?.pid = nil
        children[index].replacement?.phase = .stopping(.ended)
    }

    private mutating func noteSuccessorEnd(_ index: Int, _ reason: ExitReason) {
        guard let next = children[index].replacement else { return }
        cancelTimerOfSuccessor(index)
        children[index].replacement = nil
        handOverIsOff(index)
        conclusions.append(
            .concludeReplacement(request: next.request.number, next.outcome ?? next.failure(reason))
        )
    }

    mutating func endSuccessor(_ index: Int, by sequence: ShutdownSequence) {
        cancelTimerOfSuccessor(index)
        let steps = escalations < 2 ? sequence.steps : []
        children[index].replacement?.phase = .stopping(SupervisedChild.Stopping(remaining: steps))
        takeNextStepOfSuccessor(index)
    }

    mutating func killSuccessor(_ index: Int) {
        guard case .stopping(var stopping)? = children[index].replacement?.phase else { return }
        stopping.remaining = []
        children[index].replacement?.phase = .stopping(stopping)
        takeNextStepOfSuccessor(index)
    }

    private mutating func takeNextStepOfSuccessor(_ index: Int) {
        guard case .stopping(var stopping)? = children[index].replacement?.phase else { return }
        if let timer = stopping.timer { actions.append(.cancelTimer(timer)) }
        stopping.timer = nil
        stopping.current = stopping.remaining.isEmpty ? nil : stopping.remaining.removeFirst()
        // The new process has no events that it could finish: signals alone end it.
        if case .signal(let signal, let grace)? = stopping.current {
            actions.append(.signalSuccessor(index: index, signal))
            return waitForSuccessor(index, in: stopping, for: grace.clampedToAllowed)
        }
        if !stopping.isKilled { actions.append(.signalSuccessor(index: index, .kill)) }
        stopping.isKilled = true
        children[index].replacement?.phase = .stopping(stopping)
    }

    private mutating func waitForSuccessor(
        _ index: Int,
        in stopping: SupervisedChild.Stopping,
        for grace: Duration
    ) {
        var stopping = stopping
        stopping.grace = grace
        stopping.timer = startTimer(after: grace)
        children[index].replacement?.phase = .stopping(stopping)
        children[index].replacement?.time.stepBegan(within: grace, at: now)
    }

    // MARK: Its timers

    private mutating func cancelTimerOfSuccessor(_ index: Int) {
        if let timer = children[index].replacement?.timer { actions.append(.cancelTimer(timer)) }
    }

    mutating func noteFiredForSuccessor(_ token: TimerToken) {
        guard let index = children.firstIndex(where: { $0.replacement?.timer == token }),
            let next = children[index].replacement
        else { return }
        switch next.phase {
        case .starting:
            children[index].replacement?.phase = .starting(nil)
            let allowance = next.request.specification.handshakeTimeout
            if stoodStill(beyond: next.time.deadline, of: allowance) {
                return extendSuccessor(index, by: allowance, because: "")
            }
            failSuccessor(index, .handshakeTimedOut(after: next.time.readiness, saying: next.time.statedReason))
        case .stopping(var stopping):
            stopping.timer = nil
            children[index].replacement?.phase = .stopping(stopping)
            if stoodStill(beyond: next.time.deadline, of: stopping.grace) {
                waitForSuccessor(index, in: stopping, for: stopping.grace)
            } else {
                takeNextStepOfSuccessor(index)
            }
        case .spawning, .ready: break
        }
    }
}

extension Replacement {
    fileprivate func failure(_ reason: ExitReason) -> ReplacementOutcome {
        .failed(
            phase == .ready
                ? "its new process ended before it took over: \(reason)"
                : "its new process did not become ready: \(reason)"
        )
    }
}
