/// What becomes of a child whose process has ended: it restarts alone or with others, rests, or is given up.
extension SupervisorStateMachine {
    mutating func noteEnd(_ index: Int, _ reason: ExitReason, isOrderly: Bool, blame: ExitBlame) {
        let child = children[index]
        let reason = child.verdict ?? reason
        // What a child has left may show that it broke the protocol; its end is then abnormal in spite of a goodbye.
        let isFaulty = child.verdict != nil || reason.isViolation
        let isNormal = reason.isNormal || (!isFaulty && (isOrderly || child.saidGoodbye))
        cancelTimer(of: index)
        children[index].pid = nil
        children[index].ended = nil
        // A request that came after the process had ended did not cause the end. In a group that restarts, only the
        // first end counts as unasked.
        let cameBefore = child.intent == .rejoin || child.ended?.wasAsked != false
        children[index].recordDeath(of: reason, at: now, wasAsked: child.intent != .run && cameBefore)
        switch child.intent {
        case .giveUp(let why):
            children[index].phase = .gaveUp(why)
            noteRest(index)
        case .stop: children[index].phase = .stopped
        case .rejoin:
            // A temporary child comes back only if its restart was requested too.
            let comesBack = child.specification.restart != .temporary || child.isWanted
            children[index].phase = comesBack ? .waiting : .stopped
        case .restart: children[index].phase = .queued
        case .rest: fallDormant(index)
        case .handOver: cutOver(index, from: child.pid)
        case .run: settleUnaskedEnd(index, reason, isNormal: isNormal, blame: blame)
        }
    }

    private mutating func settleUnaskedEnd(_ index: Int, _ reason: ExitReason, isNormal: Bool, blame: ExitBlame) {
        let child = children[index]
        children[index].phase = .stopped
        // A child that ran before had a program that could run. Probably that program is just being replaced, so a few
        // more tries are worth it.
        if !isNormal, reason.isPermanent, !(reason.isSpawnFailure && child.hasRun) {
            giveUp(index, reason.description)
        } else if child.isOnDemand || child.specification.restart.restarts(afterNormalEnd: isNormal) {
            restartAfterFailure(index, reason, blame: blame)
        } else {
            noteRest(index)
        }
    }

    private mutating func restartAfterFailure(_ index: Int, _ reason: ExitReason, blame: ExitBlame) {
        let resetsAfter = children[index].specification.backoff.resetsAfter
        if let since = children[index].readySince, now - since >= resetsAfter { children[index].failures = 0 }
        children[index].failures += 1
        if case .beyondHelp(let why) = blame {
            giveUp(index, why)
        } else if blame == .child, !allowsRestart(of: index) {
            giveUp(index, "\(intensity); last: \(reason)")
        } else if restartsAlone(index) {
            let delay = backoffDelay(of: index)
            if delay == .zero {
                comeBack(index)
            } else {
                children[index].phase = .backingOff(startTimer(after: delay), until: now + delay)
            }
        } else {
            restartGroup(of: index)
        }
    }

    private mutating func allowsRestart(of index: Int) -> Bool {
        let start = children[index].readySince == nil ? now - children[index].time.launchedAt : .zero
        return restartsAlone(index)
            ? children[index].window.allowsRestart(afterFailureAt: now, ofStartThatTook: start, under: intensity)
            : sharedWindow.allowsRestart(afterFailureAt: now, ofStartThatTook: start, under: intensity)
    }

    func restartsAlone(_ index: Int) -> Bool {
        strategy == .oneForOne || children[index].specification.standsAlone
    }

    // MARK: Groups

    /// The child itself, and the children that restart or are given up along with it.
    private func restartSet(of index: Int) -> [Int] {
        if children[index].specification.standsAlone { return [index] }
        return strategy.restartSet(of: index, count: children.count)
            .filter { !children[$0].specification.standsAlone }
    }

    /// Takes every child that restarts along with `culprit` into the group, and begins the group's restart anew.
    private mutating func restartGroup(of culprit: Int) {
        for index in restartSet(of: culprit) {
            if index == culprit || children[index].isToBeStarted {
                // If a child stood alone until its specification was exchanged, its own back-off may be running.
                cancelTimer(of: index)
                children[index].phase = .waiting
            } else if children[index].isLive, [.run, .restart, .handOver].contains(children[index].intent) {
                // From now on this child's end counts as requested: if one cause kills several children at once, only
                // one failure counts.
                children[index].intent = .rejoin
            }
        }
        if let timer = groupRestart?.timer { actions.append(.cancelTimer(timer)) }
        groupRestart = GroupRestart(
            attempt: children[culprit].failures,
            delay: max(groupRestart?.delay ?? .zero, backoffDelay(of: culprit))
        )
    }

    /// Lets the group's back-off begin; called when all children of the group are stopped.
    mutating func startGroupTimer() {
        guard var group = groupRestart, group.timer == nil else { return }
        if group.delay == .zero {
            launchGroup()
        } else {
            group.timer = startTimer(after: group.delay)
            group.until = now + group.delay
            groupRestart = group
        }
    }

    mutating func launchGroup() {
        groupRestart = nil
        for index in children.indices where children[index].phase == .waiting {
            if children[index].isOnDemand, !children[index].isWanted {
                fallDormant(index)
            } else {
                children[index].restarts += 1
                children[index].phase = .queued
            }
        }
    }

    // MARK: Requests

    mutating func restart(_ index: Int) {
        if !restartsAlone(index) { sharedWindow.clear() }
        guard isGivenUp(index) else { return restartOne(index) }
        // Children that were given up together come back together.
        for sibling in restartSet(of: index) where isGivenUp(sibling) && !children[sibling].isRemoved {
            restartOne(sibling)
        }
    }

    private mutating func restartOne(_ index: Int) {
        children[index].failures = 0
        children[index].window.clear()
        children[index].isWanted = true
        switch children[index].phase {
        case .notStarted, .dormant, .stopped, .gaveUp: queueAnew(index)
        case .backingOff:
            cancelTimer(of: index)
            queueAnew(index)
        case .waiting:
            if let timer = groupRestart?.timer {
                actions.append(.cancelTimer(timer))
                launchGroup()
            }
        case .spawning, .starting, .ready, .stopping:
            // A member of a group that is being restarted comes back with the group. A child whose new process is about
            // to take over needs no other process.
            guard children[index].intent != .rejoin, children[index].intent != .handOver else { return }
            children[index].intent = .restart
            end(index, by: children[index].specification.shutdown)
        case .queued: break
        }
    }

    // MARK: Giving up

    /// Whether a child was given up, or will be as soon as its process has ended.
    package func isGivenUp(_ index: Int) -> Bool {
        if case .gaveUp = children[index].phase { return true }
        return children[index].isLive && children[index].isBeingGivenUp
    }

    /// Gives up a child that is down, and the siblings that the strategy ties to it.
    private mutating func giveUp(_ culprit: Int, _ reason: String) {
        if children[culprit].isAwaited { failStartup(culprit, reason) }
        giveUpAlone(culprit, reason)
        let name = children[culprit].specification.name
        for index in restartSet(of: culprit) where index != culprit {
            let child = children[index]
            if child.isToBeStarted || (child.isLive && child.intent != .stop && !child.isBeingGivenUp) {
                giveUpAlone(index, "its sibling \"\(name)\" was given up: \(reason)")
            }
        }
    }

    private mutating func giveUpAlone(_ index: Int, _ reason: String) {
        if children[index].isLive {
            children[index].intent = .giveUp(reason)
        } else {
            cancelTimer(of: index)
            children[index].phase = .gaveUp(reason)
            noteRest(index)
        }
    }
}

extension ExitReason {
    fileprivate var isSpawnFailure: Bool {
        if case .spawnFailed = self { true } else { false }
    }

    fileprivate var isViolation: Bool {
        if case .protocolViolation = self { true } else { false }
    }
}
