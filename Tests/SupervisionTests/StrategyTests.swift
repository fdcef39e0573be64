import Supervision
import Testing

/// Which children go down and come back together.
@Suite struct StrategyTests {
    private static let names = ["a", "b", "c", "d"]

    private func running(
        _ strategy: RestartStrategy,
        intensity: RestartIntensity = RestartIntensity(),
        startsInSequence: Bool = false,
        types: [RestartType] = [.permanent, .permanent, .permanent, .permanent]
    ) -> Simulation {
        let simulation = Simulation(
            zip(Self.names, types).map { child($0, restart: $1) },
            strategy: strategy,
            intensity: intensity,
            startsInSequence: startsInSequence
        )
        simulation.startAll()
        #expect(simulation.startupResults == [nil])
        return simulation
    }

    /// Lets each draining child say goodbye and end, until no child is draining.
    private func letDrain(_ simulation: Simulation) {
        while let index = simulation.status.firstIndex(where: { $0.state == .draining }) {
            simulation.drained(index)
            simulation.exit(index, .exited(status: 0))
        }
    }

    @Test func oneForOneRestartsTheFailedChildOnly() {
        let simulation = running(.oneForOne)
        let before = simulation.log.count
        simulation.exit(1)
        simulation.fireNext()
        #expect(simulation.deeds(since: before) == ["spawn b 2"])
    }

    @Test func oneForAllStopsTheOthersInReverseThenStartsAllInOrder() {
        let simulation = running(.oneForAll)
        let before = simulation.log.count
        simulation.exit(1)
        #expect(simulation.deeds(since: before) == ["drain d"])
        #expect(simulation.state(1) == .backingOff(attempt: 1, until: nil))
        letDrain(simulation)
        #expect(simulation.deeds(since: before) == ["drain d", "drain c", "drain a"])
        #expect(simulation.status.allSatisfy { $0.state == .backingOff(attempt: 1, until: .milliseconds(100)) })
        simulation.fireNext()
        #expect(simulation.deeds(since: before).dropFirst(3) == ["spawn a 2", "spawn b 2", "spawn c 2", "spawn d 2"])
        #expect(simulation.status[0].deaths.map(\.wasAsked) == [true])
        #expect(simulation.breaches.isEmpty)
    }

    @Test func restForOneLeavesThoseBeforeAlone() {
        let simulation = running(.restForOne)
        let before = simulation.log.count
        simulation.exit(2)
        letDrain(simulation)
        simulation.fireNext()
        #expect(simulation.deeds(since: before) == ["drain d", "spawn c 2", "spawn d 2"])
    }

    @Test func failureBeforeTheGroupThatIsBeingRestartedExtendsIt() {
        let simulation = running(.restForOne)
        simulation.exit(2)
        letDrain(simulation)
        let before = simulation.log.count
        simulation.exit(0)
        letDrain(simulation)
        simulation.fireNext()
        #expect(
            simulation.deeds(since: before) == ["drain b", "spawn a 2", "spawn b 2", "spawn c 2", "spawn d 2"]
        )
        #expect(simulation.timers.isEmpty)
    }

    @Test func childrenThatFailTogetherCountOnce() {
        let simulation = running(.oneForAll, intensity: RestartIntensity(restarts: 1, within: .seconds(10)))
        for index in 0..<4 { simulation.exit(index, segmentationFault) }
        simulation.fireNext()
        simulation.allComeUp()
        #expect(simulation.status.allSatisfy { $0.state == .ready })
        simulation.exit(3, segmentationFault)
        #expect(simulation.state(3).isAtRest)
    }

    @Test func groupIsGivenUpTogetherAndComesBackTogether() {
        let simulation = running(.restForOne, intensity: RestartIntensity(restarts: 0, within: .seconds(10)))
        let before = simulation.log.count
        simulation.exit(1, segmentationFault)
        letDrain(simulation)
        #expect(simulation.deeds(since: before) == ["drain d", "drain c"])
        let reason = "0 restarts within 10 s; last: killed by SIGSEGV (11)"
        let sibling = ChildState.gaveUp(reason: "its sibling \"b\" was given up: \(reason)")
        #expect(simulation.status.map(\.state) == [.ready, .gaveUp(reason: reason), sibling, sibling])
        simulation.give(.restartRequested(index: 1))
        simulation.allComeUp()
        #expect(simulation.status.allSatisfy { $0.state == .ready })
        #expect(simulation.breaches.isEmpty)
    }

    @Test(arguments: 0..<4)
    func membersThatAreStillBeingGivenUpComeBackWithTheGroup(requested: Int) {
        let simulation = running(.oneForAll, intensity: RestartIntensity(restarts: 0, within: .seconds(10)))
        simulation.exit(1, segmentationFault)
        // One child drains, two wait for their turn, and one is down.
        #expect(simulation.status.map(\.state.isAtRest) == [false, true, false, false])
        #expect(simulation.status.indices.allSatisfy { simulation.machine.isGivenUp($0) })
        simulation.give(.restartRequested(index: requested))
        #expect(!simulation.status.indices.contains { simulation.machine.isGivenUp($0) })
        letDrain(simulation)
        simulation.allComeUp()
        #expect(simulation.status.allSatisfy { $0.state == .ready && $0.starts == 2 && $0.restarts == 0 })
        #expect(simulation.breaches.isEmpty)
    }

    @Test func childThatWaitsForItsTurnIsCutOffWhenItsSpecificationIsExchanged() {
        let simulation = running(.oneForAll)
        simulation.exit(3)
        let before = simulation.log.count
        simulation.give(simulation.replacement(of: 0))
        // Events that only the next process wants must not go to the present one.
        #expect(simulation.deeds(since: before) == ["keep a", "adopt a", "exchanged"])
        letDrain(simulation)
        // A child that is down has no process that could be cut off.
        let down = simulation.log.count
        simulation.give(simulation.replacement(of: 0))
        #expect(simulation.deeds(since: down) == ["adopt a", "exchanged"])
        #expect(simulation.breaches.isEmpty)
    }

    @Test func temporaryAndFinishedChildrenAreNotBroughtBackByTheGroup() {
        let simulation = running(.oneForAll, types: [.permanent, .temporary, .transient, .permanent])
        simulation.exit(2, .exited(status: 0))
        simulation.exit(3)
        letDrain(simulation)
        simulation.fireNext()
        simulation.allComeUp()
        #expect(simulation.status.map(\.state) == [.ready, .stopped, .stopped, .ready])
    }

    @Test(arguments: [false, true])
    func temporaryMemberWhoseRestartWasRequestedComesBackWithTheGroupOnce(isRequestedFirst: Bool) {
        let simulation = running(.oneForAll, types: [.permanent, .temporary, .permanent, .permanent])
        if isRequestedFirst { simulation.give(.restartRequested(index: 1)) }
        simulation.exit(3)
        if !isRequestedFirst { simulation.give(.restartRequested(index: 1)) }
        letDrain(simulation)
        #expect(simulation.state(1) == simulation.state(0))
        simulation.fireNext()
        simulation.allComeUp()
        #expect(simulation.status.allSatisfy { $0.state == .ready })
        simulation.exit(0)
        letDrain(simulation)
        simulation.fireNext()
        simulation.allComeUp()
        #expect(simulation.status.map(\.state) == [.ready, .stopped, .ready, .ready])
        #expect(simulation.breaches.isEmpty)
    }

    @Test(arguments: RestartStrategy.allCases)
    func childThatStandsAloneFailsAloneAndStays(_ strategy: RestartStrategy) {
        var children = Self.names.map { child($0) }
        children[3].standsAlone = true
        let intensity = RestartIntensity(restarts: 1, within: .seconds(10))
        let simulation = Simulation(children, strategy: strategy, intensity: intensity)
        simulation.startAll()
        var before = simulation.log.count
        simulation.exit(3, segmentationFault)
        #expect(simulation.deeds(since: before).isEmpty)
        simulation.fireNext()
        #expect(simulation.deeds(since: before) == ["spawn d 2"])
        simulation.allComeUp()
        // Its failure is none of the group's.
        before = simulation.log.count
        simulation.exit(0, segmentationFault)
        letDrain(simulation)
        #expect(simulation.state(3) == .ready)
        simulation.fireNext()
        simulation.allComeUp()
        #expect(simulation.status.allSatisfy { $0.state == .ready })
        // It is given up alone, and stays while others are given up.
        simulation.exit(3, segmentationFault)
        #expect(simulation.status.map { $0.state == .ready } == [true, true, true, false])
        simulation.give(.restartRequested(index: 3))
        simulation.allComeUp()
        simulation.exit(0, segmentationFault)
        letDrain(simulation)
        #expect(simulation.state(0).isAtRest && simulation.state(3) == .ready)
        #expect(simulation.breaches.isEmpty)
    }

    @Test func startInSequenceDoesNotWaitForAChildThatStandsAlone() {
        var children = Self.names.map { child($0) }
        children[1] = child("b", backoff: .exponential(from: .seconds(10), jitter: 0))
        children[1].standsAlone = true
        let simulation = Simulation(children, strategy: .oneForAll, startsInSequence: true)
        simulation.startAll()
        simulation.exit(1)
        simulation.exit(0)
        letDrain(simulation)
        simulation.fireNext()
        simulation.allComeUp()
        #expect(simulation.status.map { $0.state == .ready } == [true, false, true, true])
        #expect(simulation.state(1) == .backingOff(attempt: 1, until: .seconds(10)))
        #expect(simulation.breaches.isEmpty)
    }

    @Test func childThatStandsAloneAndIsWantedDoesNotWaitForTheGroup() {
        var children = [child("a"), child("b", onDemand: OnDemand())]
        children[1].standsAlone = true
        let simulation = Simulation(children, strategy: .oneForAll)
        simulation.startAll()
        simulation.exit(0)
        let before = simulation.log.count
        simulation.give(.demandArose(index: 1))
        #expect(simulation.deeds(since: before) == ["spawn b 1"])
        #expect(simulation.breaches.isEmpty)
    }

    @Test func childStoppedOnRequestIsLeftOutOfTheGroup() {
        let simulation = running(.oneForAll)
        simulation.exit(0)
        simulation.give(.stopChildRequested(index: 3))
        letDrain(simulation)
        simulation.give(.stopChildRequested(index: 1))
        simulation.fireNext()
        simulation.allComeUp()
        #expect(simulation.status.map(\.state) == [.ready, .stopped, .ready, .stopped])
    }

    @Test func requestToRestartAMemberEndsTheGroupsWait() {
        let simulation = running(.oneForAll)
        simulation.exit(0)
        letDrain(simulation)
        simulation.give(.restartRequested(index: 2))
        simulation.allComeUp()
        #expect(simulation.timers.isEmpty)
        #expect(simulation.status.allSatisfy { $0.state == .ready })
    }

    @Test func siblingThatIsStillBeingSpawnedIsStoppedBeforeTheGroupStarts() {
        let simulation = Simulation([child("a"), child("b")], strategy: .oneForAll)
        simulation.start()
        simulation.spawned(0)
        let before = simulation.log.count
        simulation.exit(0)
        #expect(simulation.deeds(since: before).isEmpty)
        simulation.spawned(1)
        simulation.exit(1, .signaled(number: 15, coreDumped: false))
        simulation.fireNext()
        #expect(simulation.deeds(since: before) == ["SIGTERM b", "spawn a 2", "spawn b 2"])
    }

    @Test func aGroupTakesInAChildThatBacksOffAndItsTimerEnds() {
        // A child that stands alone backs off by itself, and its next specification makes it one of the group.
        var children = [child("a"), child("b")]
        children[1].standsAlone = true
        let simulation = Simulation(children, strategy: .oneForAll)
        simulation.startAll()
        simulation.exit(1)
        simulation.give(simulation.replacement(of: 1, by: child("b")))
        #expect(simulation.timers.count == 1)
        simulation.exit(0)
        // Only the group's timer runs.
        #expect(simulation.timers.count == 1)
        simulation.fireNext()
        #expect(simulation.deeds().suffix(2) == ["spawn a 2", "spawn b 2"])
        #expect(simulation.stopToTheEnd())
        #expect(simulation.breaches == [])
    }

    // MARK: Start

    @Test func allChildrenStartAtOnceByDefault() {
        let simulation = Simulation([child("a"), child("b")])
        simulation.start()
        #expect(simulation.deeds() == ["spawn a 1", "spawn b 1"])
        simulation.comeUp(1)
        #expect(simulation.startupResults.isEmpty)
        simulation.comeUp(0)
        #expect(simulation.startupResults == [nil])
    }

    @Test func startInSequenceWaitsForTheOneBefore() {
        let simulation = Simulation([child("a"), child("b"), child("c")], startsInSequence: true)
        simulation.start()
        simulation.spawned(0)
        simulation.exit(0)
        simulation.fireNext()
        #expect(simulation.deeds() == ["spawn a 1", "spawn a 2"])
        simulation.comeUp(0)
        simulation.comeUp(1)
        simulation.comeUp(2)
        #expect(simulation.deeds() == ["spawn a 1", "spawn a 2", "spawn b 1", "spawn c 1", "all ready"])
    }

    @Test func startInSequenceFailsWithAChildThatIsGivenUpAndGoesOnBehindIt() {
        let simulation = Simulation([child("a"), child("b"), child("c")], startsInSequence: true)
        simulation.start()
        simulation.comeUp(0)
        simulation.spawnFails(1, errno: 2)
        #expect(simulation.startupResults.map { $0?.index } == [1])
        #expect(simulation.state(0) == .ready)
        #expect(simulation.state(2) == .starting)
    }

    @Test func startFailsOnceForAChildThatKeepsFailing() {
        let simulation = Simulation([child("a"), child("b")])
        simulation.start()
        simulation.comeUp(1)
        for _ in 1...6 {
            #expect(simulation.startupResults.isEmpty)
            simulation.spawned(0)
            simulation.exit(0, segmentationFault)
            if !simulation.state(0).isAtRest { simulation.fireNext() }
        }
        let reason = "5 restarts within 10 s; last: killed by SIGSEGV (11)"
        #expect(simulation.startupResults == [StartupFailure(index: 0, name: "a", reason: reason)])
        simulation.give(.restartRequested(index: 0))
        simulation.allComeUp()
        #expect(simulation.startupResults.count == 1)
    }

    @Test func startFailsForAChildThatFinishesBeforeItIsReady() {
        let simulation = Simulation([child("a", restart: .transient)])
        simulation.start()
        simulation.spawned(0)
        simulation.exit(0, .exited(status: 0))
        #expect(simulation.startupResults.first??.reason == "it exited with status 0 before it was ready")
    }

    @Test func startSaysThatASignalEndedAChildBeforeItWasReady() {
        let simulation = Simulation([child("a", restart: .temporary)])
        simulation.start()
        simulation.spawned(0)
        simulation.exit(0, .signaled(number: 9, coreDumped: false))
        #expect(simulation.startupResults.first??.reason == "it was killed by SIGKILL (9) before it was ready")
    }

    @Test func startWithoutChildrenIsFinishedAtOnce() {
        let simulation = Simulation([])
        #expect(simulation.start() == [.finishStartup(nil)])
        #expect(simulation.give(.stopRequested) == [.announceAllStopped])
    }
}
