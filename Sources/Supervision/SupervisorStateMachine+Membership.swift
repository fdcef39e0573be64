/// Children that come and go while the supervisor runs.
///
/// A child keeps its index for ever: an added child comes after all others, and the index of a removed child is never
/// used again. So an added child is also the last in the order of starts, and the first to be stopped.
extension SupervisorStateMachine {
    /// Adds children, which stay down until their start, or the supervisor's, is requested.
    mutating func add(_ specifications: [ChildSpecification]) {
        children += specifications.map(SupervisedChild.init)
    }

    /// Starts a child that was added; before the supervisor's own start, the child waits for that start.
    mutating func startAdded(_ index: Int) {
        guard children.indices.contains(index), children[index].phase == .notStarted, mode != .notStarted else {
            return
        }
        guard mode == .running, !isEndingWithSignificant else {
            children[index].phase = .stopped
            return
        }
        queueAnew(index)
        if children[index].isOnDemand { fallDormant(index) }
    }

    /// Notes that a child will be removed: from now on it is not significant.
    ///
    /// The others go on without it, whether it ends by itself before its removal is requested, or because of that.
    mutating func planRemoval(_ index: Int) {
        if isPresent(index) { children[index].membership = .leaving }
    }

    /// Stops a child for good; the environment is told when nothing is left of it, and nothing brings it back.
    mutating func remove(_ index: Int) {
        guard isPresent(index) else { return }
        children[index].membership = .removed
        children[index].isAwaited = false
        // While all children are being stopped, the child goes down when its turn comes.
        if mode != .stopping { stopForGood(index) }
        if !children[index].isLive { children[index].phase = .stopped }
    }

    /// Whether there is a child with this index whose removal was not requested.
    func isPresent(_ index: Int) -> Bool { children.indices.contains(index) && !children[index].isRemoved }

    /// Reports removed children once nothing is left of them or of a process that was to take their place.
    mutating func settleRemovals() {
        for index in children.indices where children[index].membership == .removed {
            guard !children[index].isLive, children[index].replacement == nil else { continue }
            children[index].membership = .gone
            conclusions.append(.announceRemoval(index: index))
        }
    }

    /// Forgets a removed child, except for its name, once the environment was told that nothing is left of the child.
    ///
    /// The index stays taken. Only the name is kept, because children may come and go without end. The changed status
    /// is not reported.
    package mutating func forget(_ index: Int) {
        guard children.indices.contains(index), children[index].membership == .gone else { return }
        children[index] = SupervisedChild(gone: children[index].specification.name)
    }
}
