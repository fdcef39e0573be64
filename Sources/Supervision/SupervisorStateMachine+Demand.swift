/// Children that run only while there is something for them to do.
///
/// Such a child is `dormant` before each start, except a start that was requested. While the child is dormant, the
/// environment keeps checking whether something waits for the child. So the environment also finds what came while the
/// child was going down, and no child is started for nothing.
extension SupervisorStateMachine {
    /// Leaves a child down until something comes for it.
    mutating func fallDormant(_ index: Int) {
        children[index].phase = .dormant
        actions.append(.watchDemand(index: index))
    }

    /// Notes that something has come for a child.
    mutating func noteDemand(_ index: Int) {
        guard mode == .running, children.indices.contains(index), children[index].phase == .dormant else { return }
        guard groupRestart == nil || restartsAlone(index) else {
            // Once the group comes back, the child falls dormant, and what has come is found again.
            children[index].phase = .waiting
            return
        }
        if children[index].failures > 0 { children[index].restarts += 1 }
        children[index].phase = .queued
    }

    /// Notes that a child has had nothing to do for its idle time; what comes from now on waits for its next start.
    mutating func noteIdle(_ index: Int) {
        let child = children[index]
        guard child.isOnDemand, child.phase == .ready else { return }
        // The child waits for its turn to be stopped along with others, and gets what they still publish, unless its
        // specification was exchanged meanwhile.
        guard child.intent == .run else { return actions.append(.letEventsLeave(index: index)) }
        children[index].intent = .rest
        children[index].failures = 0
        end(index, by: children[index].specification.shutdown)
    }
}

extension SupervisedChild {
    /// Whether the child is started when something comes for it.
    var isOnDemand: Bool { specification.onDemand != nil && specification.restart != .temporary }
}
