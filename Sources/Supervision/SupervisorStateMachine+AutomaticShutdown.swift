/// What the end of a significant child means for the others.
extension SupervisorStateMachine {
    /// Notes that a child has come to rest without a request.
    mutating func noteRest(_ index: Int) {
        if children[index].isSignificant { endedSignificant = index }
    }

    /// Tells the environment to stop everything if the end of a significant child ends the others.
    ///
    /// The environment lets the events on their way arrive, and then requests the stop. If the supervisor's own start
    /// is still going on, the stop begins at once.
    mutating func shutDownWithSignificant() {
        guard let index = endedSignificant else { return }
        endedSignificant = nil
        guard mode == .running, !isEndingWithSignificant else { return }
        switch automaticShutdown {
        case .never: return
        case .anySignificant: break
        case .allSignificant:
            if children.contains(where: { $0.isSignificant && $0.isActive }) { return }
        }
        isEndingWithSignificant = true
        conclusions.append(.announceAutomaticShutdown(index: index))
        guard startupIsOpen else { return }
        let name = children[index].specification.name
        stop(because: "all were stopped before it was ready, because the significant \"\(name)\" had ended")
    }
}

extension SupervisedChild {
    /// Whether the child does its work, or will do so.
    fileprivate var isActive: Bool {
        switch phase {
        // While all run, a child is not started yet only if it was just added: the request for its start will come.
        case .notStarted, .queued, .backingOff, .waiting, .dormant: true
        case .spawning, .starting, .ready, .stopping: intent != .stop
        case .stopped, .gaveUp: false
        }
    }
}
