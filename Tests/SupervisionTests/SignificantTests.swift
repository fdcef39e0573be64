import Supervision
import Testing

/// What the end of significant children means for the others.
@Suite("Significant children: whose end ends the group, and whose does not")
struct SignificantTests {
    /// A permanent child "keeper", and significant ones named for their restart types.
    private func running(
        _ automaticShutdown: AutomaticShutdown,
        significant: [RestartType] = [.transient],
        strategy: RestartStrategy = .oneForOne,
        intensity: RestartIntensity = RestartIntensity()
    ) -> Simulation {
        let simulation = Simulation(
            [child("keeper")] + significant.map { child($0.rawValue, restart: $0, isSignificant: true) },
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown
        )
        simulation.startAll()
        return simulation
    }

    private func deeds(_ simulation: Simulation, _ body: () -> Void) -> [String] {
        let count = simulation.log.count
        body()
        #expect(simulation.breaches.isEmpty)
        return simulation.deeds(since: count)
    }

    @Test("a transient child's normal end stops the others, in order, and then all are stopped")
    func transientEndsNormally() {
        let simulation = running(.anySignificant)
        #expect(deeds(simulation) { simulation.exit(1, .exited(status: 0)) } == ["end with transient", "drain keeper"])
        #expect(deeds(simulation) { simulation.exit(0, .exited(status: 0)) } == ["all stopped"])
        #expect(simulation.state(0) == .stopped)
    }

    @Test("a transient child's crash is no end: it is started again")
    func transientCrashes() {
        let simulation = running(.anySignificant)
        #expect(deeds(simulation) { simulation.exit(1, segmentationFault) }.isEmpty)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn transient 2"])
    }

    @Test(
        "a temporary child's end stops the others, whichever it is",
        arguments: [ExitReason.exited(status: 0), .exited(status: 1), segmentationFault]
    )
    func temporaryEnds(reason: ExitReason) {
        let simulation = running(.anySignificant, significant: [.temporary])
        #expect(deeds(simulation) { simulation.exit(1, reason) } == ["end with temporary", "drain keeper"])
    }

    @Test("a significant child that is given up is one that has ended")
    func givenUp() {
        let simulation = running(.anySignificant, intensity: RestartIntensity(restarts: 0))
        #expect(
            deeds(simulation) { simulation.exit(1, segmentationFault) } == ["end with transient", "drain keeper"]
        )
    }

    @Test("the end of a child that is not significant ends no other")
    func insignificant() {
        let simulation = Simulation(
            [child("a", restart: .temporary), child("b", restart: .temporary, isSignificant: true)],
            automaticShutdown: .anySignificant
        )
        simulation.startAll()
        #expect(deeds(simulation) { simulation.exit(0) }.isEmpty)
        #expect(simulation.state(1) == .ready)
    }

    @Test("the first end of several significant children stops all, or the last does, as the automatic shutdown says")
    func anyAndAll() {
        let any = running(.anySignificant, significant: [.transient, .temporary])
        #expect(
            deeds(any) { any.exit(1, .exited(status: 0)) } == ["end with transient", "drain temporary"]
        )
        let all = running(.allSignificant, significant: [.transient, .temporary])
        #expect(deeds(all) { all.exit(1, .exited(status: 0)) }.isEmpty)
        #expect(deeds(all) { all.exit(2, segmentationFault) } == ["end with temporary", "drain keeper"])
    }

    @Test("a significant child that waits for its restart has not ended yet")
    func oneBacksOff() {
        let all = running(.allSignificant, significant: [.transient, .temporary])
        all.exit(1, segmentationFault)
        #expect(deeds(all) { all.exit(2) }.isEmpty)
        all.fireNext()
        all.allComeUp()
        #expect(deeds(all) { all.exit(1, .exited(status: 0)) } == ["end with transient", "drain keeper"])
    }

    @Test("one that was added and waits for its start has not ended")
    func oneIsAdded() {
        let all = running(.allSignificant)
        all.give(.childrenAdded([child("added", restart: .transient, isSignificant: true)]))
        #expect(deeds(all) { all.exit(1, .exited(status: 0)) }.isEmpty)
        #expect(deeds(all) { all.give(.startChildRequested(index: 2)) } == ["spawn added 1"])
        all.allComeUp()
        #expect(deeds(all) { all.exit(2, .exited(status: 0)) } == ["end with added", "drain keeper"])
    }

    @Test("one that is to be removed ends no other, however it ends", arguments: [true, false])
    func oneLeaves(isRequested: Bool) {
        let any = running(.anySignificant, significant: [.transient, .temporary])
        any.give(.removalPlanned(index: 1))
        if isRequested { any.give(.removeChildRequested(index: 1)) }
        let removal = isRequested ? ["removed transient"] : []
        #expect(deeds(any) { any.exit(1, .exited(status: 0)) } == removal)
        #expect(deeds(any) { any.exit(2) } == ["end with temporary", "drain keeper"])
    }

    @Test("one that is to be removed is not waited for, though it goes on", arguments: [true, false])
    func theOtherLeaves(isRequested: Bool) {
        let all = running(.allSignificant, significant: [.transient, .temporary])
        all.give(.removalPlanned(index: 1))
        if isRequested { all.give(.removeChildRequested(index: 1)) }
        let stops = ["end with temporary"] + (isRequested ? [] : ["drain transient"])
        #expect(deeds(all) { all.exit(2) } == stops)
    }

    @Test("an end that was asked for does not count, but its child is not waited for any more")
    func stoppedOnRequest() {
        let simulation = running(.allSignificant, significant: [.transient, .temporary])
        simulation.give(.stopChildRequested(index: 1))
        #expect(deeds(simulation) { simulation.exit(1, .exited(status: 0)) }.isEmpty)
        #expect(deeds(simulation) { simulation.exit(2) } == ["end with temporary", "drain keeper"])
    }

    @Test("one that goes down on request is not waited for either")
    func stoppingOnRequest() {
        let simulation = running(.allSignificant, significant: [.transient, .temporary])
        simulation.give(.stopChildRequested(index: 1))
        #expect(deeds(simulation) { simulation.exit(2) } == ["end with temporary"])
        #expect(deeds(simulation) { simulation.exit(1, .exited(status: 0)) } == ["drain keeper"])
    }

    @Test("an end along with a sibling that is restarted does not count")
    func stoppedAlongWithASibling() {
        let simulation = running(.anySignificant, significant: [.temporary], strategy: .oneForAll)
        simulation.exit(0, segmentationFault)
        #expect(deeds(simulation) { simulation.exit(1, .exited(status: 0)) }.isEmpty)
        #expect(simulation.state(1) == .stopped)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn keeper 2"])
    }

    @Test("a start that the end of a significant child breaks off says so")
    func duringTheStart() {
        let simulation = Simulation(
            [child("job", restart: .temporary, isSignificant: true), child("slow")],
            automaticShutdown: .anySignificant
        )
        simulation.start()
        simulation.comeUp(0)
        simulation.spawned(1)
        simulation.exit(0, .exited(status: 0))
        let failure = StartupFailure(
            index: 1,
            name: "slow",
            reason: "all were stopped before it was ready, because the significant \"job\" had ended"
        )
        #expect(simulation.startupResults == [failure])
    }

    @Test("the others run on until the stop is asked for, and no second end is told")
    func untilTheStop() {
        let simulation = running(.anySignificant, significant: [.transient, .temporary])
        simulation.answersAutomaticShutdown = false
        #expect(deeds(simulation) { simulation.exit(1, .exited(status: 0)) } == ["end with transient"])
        #expect(deeds(simulation) { simulation.exit(0, segmentationFault) }.isEmpty)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn keeper 2"])
        simulation.allComeUp()
        #expect(deeds(simulation) { simulation.exit(2) }.isEmpty)
        #expect(deeds(simulation) { simulation.give(.stopRequested) } == ["drain keeper"])
    }

    @Test("combinations that make no sense are refused, all at once")
    func mistakes() {
        let children = [
            child("a", isSignificant: true), child("b", restart: .transient, isSignificant: true), child("c"),
        ]
        let permanent =
            "child \"a\": it is significant, but permanent, so that it is always started again; make it transient or temporary"
        #expect(
            ChildSpecification.validate(children) == [permanent]
                + ["a", "b"].map {
                    """
                    child "\($0)": it is significant, but the automatic shutdown is "never", so that its end would end nothing; \
                    choose "any-significant" or "all-significant"
                    """
                }
        )
        #expect(ChildSpecification.validate(children, automaticShutdown: .anySignificant) == [permanent])
        #expect(
            ChildSpecification.validate([child("c")], automaticShutdown: .allSignificant) == [
                "the automatic shutdown is \"all-significant\", but no child is significant, so that it would never come"
            ]
        )
    }
}
