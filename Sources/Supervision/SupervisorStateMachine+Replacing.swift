/// How another process takes a child's place: it comes up beside the present one, which then finishes and ends.
///
/// Until the new process is ready, the child's life goes on as before. From then on the new specification holds, and
/// the supervisor stops the present process. A stop of the child for another reason takes precedence and calls the
/// replacement off.
extension SupervisorStateMachine {
    mutating func replace(_ index: Int, _ request: ReplacementRequest) {
        guard mode == .running, !isEndingWithSignificant, children.indices.contains(index) else {
            return conclude(request, .failed("nothing has been started yet, or the shutdown has begun"))
        }
        guard isPresent(index) else { return conclude(request, .failed("it was removed")) }
        guard children[index].replacement == nil else {
            return conclude(request, .failed("it is being replaced already"))
        }
        guard children[index].isAtWork else {
            // The present process may still be waiting for its turn to be stopped along with others.
            cutOff(index)
            adopt(request, for: index)
            return conclude(request, .exchanged)
        }
        children[index].launches += 1
        let start = children[index].launches
        children[index].replacement = Replacement(request, start: start, launchedAt: now)
        actions.append(.spawnSuccessor(index: index, start: start, request: request.number))
    }

    /// Calls off a replacement that its caller wants no longer; a replacement that is handing over goes on.
    mutating func callOff(request number: Int) {
        let index = children.firstIndex { $0.replacement?.request.number == number }
        guard let index, children[index].intent != .handOver else { return }
        settleReplacement(index, .failed("it was called off"), endingBy: .unready)
    }

    /// Cuts the present process off from events; then events may be kept for the new specification's subscriptions.
    ///
    /// A process that is not ready is cut off too, because it may become ready before it has ended.
    private mutating func cutOff(_ index: Int) {
        if children[index].isLive { actions.append(.keepEvents(index: index)) }
    }

    /// Makes the new specification the child's own, for all of its processes from now on.
    private mutating func adopt(_ request: ReplacementRequest, for index: Int) {
        children[index].specification = request.specification
        actions.append(.adoptSpecification(index: index, request: request.number))
    }

    private mutating func conclude(_ request: ReplacementRequest, _ outcome: ReplacementOutcome) {
        conclusions.append(.concludeReplacement(request: request.number, outcome))
    }

    // MARK: Handing over

    /// Hands over to the new process, which is ready: the present one gets no more events, and ends when it is through.
    mutating func handOver(_ index: Int) {
        guard let request = children[index].replacement?.request else { return }
        let shutdown = children[index].specification.shutdown
        var steps = shutdown.steps.filter { !$0.isDrain }
        steps.insert(.drain(grace: request.grace), at: 0)
        cutOff(index)
        adopt(request, for: index)
        guard children[index].isLive else {
            // The present process has ended, and the child was not started again yet.
            cancelTimer(of: index)
            return cutOver(index, from: nil)
        }
        children[index].intent = .handOver
        end(index, by: ShutdownSequence(steps: steps))
        drainsToHandOver(index, otherwise: shutdown.drainGrace)
    }

    /// Lets the new process do the child's work, now that the present process has ended.
    ///
    /// - Parameter old: the process that has ended; nil if there was none.
    mutating func cutOver(_ index: Int, from old: Int32?) {
        guard let next = children[index].replacement else { return }
        children[index].replacement = nil
        children[index].phase = .ready
        children[index].intent = .run
        children[index].isWanted = false
        children[index].start = next.start
        children[index].pid = next.pid
        children[index].verdict = nil
        children[index].saidGoodbye = false
        children[index].hasRun = true
        children[index].time = next.time
        children[index].readySince = now
        children[index].failures = 0
        children[index].window.clear()
        children[index].wasReady = true
        actions.append(.cutOver(index: index, start: next.start))
        conclude(next.request, .replaced(old: old, new: next.pid))
    }

    // MARK: Calling it off

    /// Ends the new process of each child that is stopped for another reason, or has come to rest.
    mutating func callOffReplacements() {
        for index in children.indices where children[index].replacement?.outcome == nil {
            guard let request = children[index].replacement?.request else { continue }
            guard let outcome = outcomeOfReplacement(index) else { continue }
            if outcome == .exchanged { adopt(request, for: index) }
            settleReplacement(index, outcome, endingBy: .unready)
        }
    }

    /// The outcome of a replacement that something else ends; nil if the replacement goes on.
    private func outcomeOfReplacement(_ index: Int) -> ReplacementOutcome? {
        let child = children[index]
        if mode != .running { return .failed("all are being stopped") }
        switch (child.phase, child.intent) {
        case (.dormant, _), (.stopping, .rest): return .exchanged
        case (.notStarted, _), (.stopped, _): return .failed("it has stopped")
        case (.gaveUp(let why), _): return .failed("it was given up: \(why)")
        case (.waiting, _): return .failed("it is being restarted along with its siblings")
        case (.queued, _), (.backingOff, _): return nil
        case (.spawning, let intent), (.starting, let intent), (.ready, let intent), (.stopping, let intent):
            switch intent {
            case .run, .handOver, .rest: return nil
            case .stop: return .failed("it was stopped")
            case .restart: return .failed("it was restarted")
            case .rejoin: return .failed("it is being restarted along with its siblings")
            case .giveUp(let why): return .failed("it was given up: \(why)")
            }
        }
    }

    /// Decides the outcome of a replacement, and ends its process, if there is one.
    mutating func settleReplacement(
        _ index: Int,
        _ outcome: ReplacementOutcome,
        endingBy sequence: ShutdownSequence
    ) {
        guard let next = children[index].replacement else { return }
        if next.outcome == nil { children[index].replacement?.outcome = outcome }
        handOverIsOff(index)
        switch next.phase {
        // The process is ended as soon as it is there.
        case .spawning: break
        case .starting, .ready: endSuccessor(index, by: sequence)
        case .stopping: if sequence == .killing { killSuccessor(index) }
        }
    }

    /// Notes that the present process does not hand over: it was already asked to end, so the child has to start again.
    mutating func handOverIsOff(_ index: Int) {
        if children[index].intent == .handOver { children[index].intent = .restart }
        limitDrain(index)
    }
}
