import Supervision
import Testing

/// How children and the whole supervisor are stopped.
@Suite struct StopTests {
    @Test func childIsDrainedThenTerminatedThenKilledAtTheGracesItHas() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        let before = simulation.log.count
        simulation.give(.stopRequested)
        #expect(simulation.state(0) == .draining)
        simulation.pass(.milliseconds(4_999))
        #expect(simulation.deeds(since: before) == ["drain a"])
        simulation.pass(.milliseconds(1))
        #expect(simulation.state(0) == .stopping)
        simulation.pass(.milliseconds(999))
        #expect(simulation.deeds(since: before) == ["drain a", "SIGTERM a"])
        simulation.pass(.milliseconds(1))
        #expect(simulation.deeds(since: before) == ["drain a", "SIGTERM a", "SIGKILL a"])
        #expect(simulation.timers.isEmpty)
        simulation.exit(0, .signaled(number: 9, coreDumped: false))
        #expect(simulation.deeds(since: before).last == "all stopped")
        #expect(simulation.status[0].deaths.map(\.wasAsked) == [true])
    }

    @Test func ownSequenceIsFollowedStepByStep() {
        let sequence = ShutdownSequence(steps: [
            .signal(.interrupt, grace: .seconds(2)), .drain(grace: .seconds(3)), .signal(.terminate, grace: .zero),
        ])
        let simulation = Simulation([child("a", shutdown: sequence), child("b", shutdown: .killing)])
        simulation.startAll()
        let before = simulation.log.count
        simulation.give(.stopRequested)
        simulation.exit(1, .signaled(number: 9, coreDumped: false))
        simulation.pass(.seconds(5))
        #expect(simulation.deeds(since: before) == ["SIGKILL b", "SIGINT a", "drain a", "SIGTERM a", "SIGKILL a"])
    }

    @Test func childrenAreStoppedOneAfterTheOtherInReverseOrder() {
        let simulation = Simulation([child("a"), child("b"), child("c")])
        simulation.startAll()
        let before = simulation.log.count
        simulation.give(.stopRequested)
        simulation.exit(2, .exited(status: 0))
        simulation.exit(1, segmentationFault)
        simulation.exit(0, .exited(status: 0))
        #expect(simulation.deeds(since: before) == ["drain c", "drain b", "drain a", "all stopped"])
        #expect(simulation.status.allSatisfy { $0.state == .stopped })
        #expect(simulation.status[1].lastExit == segmentationFault)
    }

    @Test func childThatDiesBeforeItsTurnIsPassedOver() {
        let simulation = Simulation([child("a"), child("b"), child("c")])
        simulation.startAll()
        let before = simulation.log.count
        simulation.give(.stopRequested)
        simulation.exit(1, segmentationFault)
        #expect(simulation.state(1) == .stopped, "nothing is restarted any more")
        simulation.exit(2, .exited(status: 0))
        #expect(simulation.deeds(since: before) == ["drain c", "drain a"])
    }

    @Test func goodbyeLeavesASecondToEnd() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        simulation.give(.stopRequested)
        let before = simulation.log.count
        simulation.drained(0)
        simulation.pass(.milliseconds(999))
        #expect(simulation.deeds(since: before).isEmpty)
        simulation.pass(.milliseconds(1))
        #expect(simulation.deeds(since: before) == ["SIGTERM a"])
    }

    @Test func childThatAskedForTimeToDrainGetsIt() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        simulation.give(.stopRequested)
        simulation.pass(.seconds(4))
        simulation.give(.childAskedForTime(index: 0, start: 1, more: .seconds(30)))
        simulation.pass(.milliseconds(29_999))
        #expect(simulation.state(0) == .draining)
        simulation.pass(.milliseconds(1))
        #expect(simulation.state(0) == .stopping)
    }

    @Test func timeThatWasAskedForBeforeTheDrainCounts() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        simulation.give(.childAskedForTime(index: 0, start: 1, more: .seconds(30)))
        simulation.pass(.seconds(1))
        simulation.give(.stopRequested)
        simulation.pass(.milliseconds(28_999))
        #expect(simulation.state(0) == .draining)
        simulation.pass(.milliseconds(1))
        #expect(simulation.state(0) == .stopping)
    }

    @Test("A12, N10: after the machine was asleep no child is late to become ready, to drain, or to end after a signal")
    func machineAsleep() {
        let simulation = Simulation([child("a")])
        simulation.start()
        simulation.spawned(0)
        simulation.now = .seconds(3_600)
        simulation.fireNext()
        #expect(simulation.state(0) == .starting)
        simulation.pass(.milliseconds(9_999))
        #expect(simulation.state(0) == .starting)
        simulation.ready(0)
        simulation.give(.stopRequested)
        simulation.now += .seconds(3_600)
        simulation.fireNext()
        #expect(simulation.state(0) == .draining)
        simulation.pass(.milliseconds(4_999))
        #expect(simulation.state(0) == .draining)
        let before = simulation.log.count
        simulation.pass(.milliseconds(1))
        #expect(simulation.state(0) == .stopping)
        simulation.now += .seconds(3_600)
        simulation.fireNext()
        simulation.pass(.milliseconds(999))
        #expect(simulation.deeds(since: before) == ["SIGTERM a"])
        simulation.pass(.milliseconds(1))
        #expect(simulation.deeds(since: before) == ["SIGTERM a", "SIGKILL a"])
        #expect(simulation.breaches.isEmpty)
    }

    @Test(
        "A12, N10: after the machine was asleep no child that has said goodbye is late to end",
        arguments: [true, false]
    )
    func machineAsleepAfterGoodbye(wasAsked: Bool) {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        if wasAsked { simulation.give(.stopRequested) }
        let before = simulation.log.count
        simulation.drained(0)
        simulation.now += .seconds(3_600)
        simulation.fireNext()
        simulation.pass(.milliseconds(999))
        #expect(simulation.deeds(since: before).isEmpty)
        simulation.pass(.milliseconds(1))
        #expect(simulation.deeds(since: before) == ["SIGTERM a"])
        #expect(simulation.breaches.isEmpty)
    }

    @Test("A12: a clock that goes back, as threads read it out of turn, changes nothing")
    func clockGoesBack() {
        let simulation = Simulation([child("a")])
        simulation.now = .seconds(3_600)
        simulation.start()
        simulation.spawned(0)
        simulation.now = .zero
        simulation.ready(0)
        #expect(simulation.state(0) == .ready)
        simulation.exit(0)
        #expect(simulation.state(0) == .backingOff(attempt: 1, until: .seconds(3_600) + .milliseconds(100)))
    }

    @Test func childThatIsNotReadyIsNotDrained() {
        let simulation = Simulation([child("a")])
        simulation.start()
        simulation.spawned(0)
        let before = simulation.log.count
        simulation.give(.stopRequested)
        #expect(simulation.deeds(since: before).first == "SIGTERM a")
    }

    @Test func escalationEndsAllAtOnceAndASecondOneKills() {
        let simulation = Simulation([child("a"), child("b"), child("c")])
        simulation.startAll()
        let before = simulation.log.count
        simulation.give(.stopRequested)
        simulation.give(.stopEscalated)
        #expect(simulation.deeds(since: before) == ["drain c", "SIGTERM c", "SIGTERM b", "SIGTERM a"])
        simulation.give(.stopEscalated)
        #expect(simulation.deeds(since: before).suffix(3) == ["SIGKILL c", "SIGKILL b", "SIGKILL a"])
        for index in 0..<3 { simulation.exit(index, .signaled(number: 9, coreDumped: false)) }
        #expect(simulation.stopsAnnounced == 1)
        #expect(simulation.breaches.isEmpty)
    }

    @Test func childThatAppearsDuringAnEscalatedStopIsEndedAsQuickly() {
        let simulation = Simulation([child("a"), child("b")])
        simulation.start()
        simulation.give(.stopEscalated)
        simulation.spawned(1)
        simulation.give(.stopEscalated)
        let before = simulation.log.count
        simulation.spawned(0)
        #expect(simulation.deeds(since: before) == ["SIGKILL a"])
    }

    @Test func stopDuringABackoffCancelsIt() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        simulation.exit(0)
        simulation.give(.stopRequested)
        #expect(simulation.timers.isEmpty)
        #expect(simulation.stopsAnnounced == 1)
        #expect(simulation.state(0) == .stopped)
    }

    @Test func stopIsAnnouncedOnceAndRequestsAfterItAreIgnored() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        #expect(simulation.stopToTheEnd())
        for input: SupervisorInput in [
            .stopRequested, .stopEscalated, .restartRequested(index: 0), .stopChildRequested(index: 0),
        ] {
            #expect(simulation.give(input).isEmpty)
        }
    }

    @Test func stoppedSupervisorStartsAgain() {
        let simulation = Simulation([child("a"), child("b")])
        simulation.startAll()
        #expect(simulation.stopToTheEnd())
        simulation.startAll()
        #expect(simulation.startupResults == [nil, nil])
        #expect(simulation.status.map(\.starts) == [2, 2])
        #expect(simulation.status.map(\.restarts) == [0, 0])
        #expect(simulation.stopToTheEnd())
        #expect(simulation.stopsAnnounced == 2)
        #expect(simulation.breaches.isEmpty)
    }

    @Test func requestedRestartDrainsAndStartsAtOnceWithoutCounting() {
        let simulation = Simulation([child("a", restart: .temporary)])
        simulation.startAll()
        for _ in 1...10 {
            simulation.give(.restartRequested(index: 0))
            #expect(simulation.state(0) == .draining)
            simulation.drained(0)
            simulation.exit(0, .exited(status: 0))
            simulation.allComeUp()
        }
        #expect(simulation.status[0].starts == 11)
        #expect(simulation.status[0].restarts == 0)
    }

    @Test(
        "a child that hands over and is ended for another reason drains no longer than its own shutdown lets it",
        arguments: [
            { _ in .stopRequested }, { _ in .stopChildRequested(index: 0) }, { _ in .removeChildRequested(index: 0) },
            { .childProcessEnded(index: 0, start: $0.start(0) + 1, reason: segmentationFault) },
            { .childViolated(index: 0, start: $0.start(0) + 1, reason: .protocolViolation("bad frame")) },
        ] as [@Sendable (Simulation) -> SupervisorInput]
    )
    func handOverIsOff(_ input: @Sendable (Simulation) -> SupervisorInput) {
        let shutdowns = [
            (ShutdownSequence.draining(grace: .seconds(5)), ShutdownSequence.killing),
            (.killing, .draining(grace: .seconds(5))),
        ]
        for (step, next) in shutdowns {
            let simulation = Simulation([child("a", shutdown: step)])
            simulation.startAll()
            simulation.give(simulation.replacement(of: 0, by: child("a", shutdown: next), grace: .seconds(600)))
            simulation.spawned(0, pid: 200, successor: true)
            simulation.ready(0, successor: true)
            simulation.pass(.seconds(10))
            #expect(simulation.state(0) == .draining)
            let before = simulation.log.count
            simulation.give(input(simulation))
            let isEnded = { simulation.deeds(since: before).contains { $0 == "SIGTERM a" || $0 == "SIGKILL a" } }
            #expect(isEnded() == (step == .killing))
            simulation.pass(.milliseconds(4_999))
            #expect(isEnded() == (step == .killing))
            simulation.pass(.milliseconds(1))
            #expect(isEnded())
            #expect(simulation.breaches.isEmpty)
        }
    }

    @Test("a child that rests while its replacement comes up drains as it was asked to, whatever comes after it")
    func restsWhileReplaced() {
        let simulation = Simulation([child("a", onDemand: OnDemand())])
        simulation.startAll()
        simulation.demanded(0)
        simulation.allComeUp()
        simulation.replace(0, by: child("a", onDemand: OnDemand(), shutdown: .killing))
        let before = simulation.log.count
        simulation.idled(0)
        simulation.pass(.milliseconds(4_999))
        #expect(simulation.deeds(since: before).first == "drain a")
        #expect(!simulation.deeds(since: before).contains { $0 == "SIGTERM a" || $0 == "SIGKILL a" })
        #expect(simulation.breaches.isEmpty)
    }

    @Test("a new process that waits to take over, and asks for time, has that time when it is stopped later")
    func timeThatWasAskedForBeforeTheCutOverCounts() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        simulation.replace(0)
        simulation.ready(0, successor: true)
        simulation.give(.childAskedForTime(index: 0, start: 2, more: .seconds(60)))
        simulation.exit(0, .exited(status: 0), isOrderly: true)
        #expect(simulation.state(0) == .ready)
        simulation.give(.stopRequested)
        simulation.pass(.milliseconds(59_999))
        #expect(simulation.state(0) == .draining)
        simulation.pass(.milliseconds(1))
        #expect(simulation.state(0) == .stopping)
    }

    @Test(
        "an end was asked for if the request came before the process ended, though nothing of it was handled yet",
        arguments: [true, false]
    )
    func requestAroundTheEnd(cameBefore: Bool) {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        if cameBefore { simulation.give(.stopRequested) }
        simulation.processEnded(0, segmentationFault)
        if !cameBefore { simulation.give(.stopRequested) }
        simulation.exit(0, segmentationFault)
        #expect(simulation.status[0].deaths.map(\.wasAsked) == [cameBefore])
        #expect(simulation.status[0].state == .stopped)
    }

    @Test func violationWhileDrainingKillsAndIsRemembered() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        simulation.give(.stopRequested)
        let before = simulation.log.count
        simulation.violated(0, .protocolViolation("bad frame"))
        #expect(simulation.deeds(since: before) == ["SIGKILL a"])
        simulation.exit(0, .signaled(number: 9, coreDumped: false))
        #expect(simulation.status[0].lastExit == .protocolViolation("bad frame"))
        #expect(simulation.stopsAnnounced == 1)
    }

    @Test func everyDeathIsReportedWithItsReason() {
        let simulation = Simulation([child("a", backoff: .exponential(from: .zero, jitter: 0))])
        simulation.startAll()
        let actions = simulation.exit(0, segmentationFault)
        let reasons = actions.compactMap { action -> ExitReason? in
            if case .report(0, _, let reason) = action { reason } else { nil }
        }
        #expect(reasons == [segmentationFault])
    }
}
