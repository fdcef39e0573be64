import Supervision
import Testing

/// Children that come and go while the others do their work.
@Suite("Children that come and go")
struct MembershipTests {
    private func deeds(_ simulation: Simulation, _ body: () -> Void) -> [String] {
        let count = simulation.log.count
        body()
        #expect(simulation.breaches.isEmpty)
        return simulation.deeds(since: count)
    }

    private func running(_ names: String..., strategy: RestartStrategy = .oneForOne) -> Simulation {
        let simulation = Simulation(names.map { child($0) }, strategy: strategy)
        simulation.startAll()
        return simulation
    }

    @Test("one that is added is started when that is asked for, and the others do not notice")
    func added() {
        let simulation = running("a", "b")
        let before = simulation.status
        #expect(deeds(simulation) { simulation.give(.childrenAdded([child("c")])) }.isEmpty)
        #expect(simulation.state(2) == .notStarted)
        #expect(deeds(simulation) { simulation.give(.startChildRequested(index: 2)) } == ["spawn c 1"])
        simulation.allComeUp()
        #expect(simulation.state(2) == .ready)
        #expect(Array(simulation.status.prefix(2)) == before)
    }

    @Test("one on demand that is added waits for something to do")
    func addedOnDemand() {
        let simulation = running("a")
        simulation.give(.childrenAdded([child("b", onDemand: OnDemand())]))
        #expect(deeds(simulation) { simulation.give(.startChildRequested(index: 1)) } == ["watch b"])
        #expect(deeds(simulation) { simulation.demanded(1) } == ["spawn b 1"])
    }

    @Test("in sequence one that is added waits for those before it, which are behind their back-off")
    func addedInSequence() {
        let simulation = Simulation([child("a")], startsInSequence: true)
        simulation.startAll()
        simulation.exit(0)
        simulation.give(.childrenAdded([child("b"), child("c")]))
        #expect(deeds(simulation) { simulation.give(.startChildRequested(index: 1)) }.isEmpty)
        #expect(deeds(simulation) { simulation.give(.startChildRequested(index: 2)) }.isEmpty)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn a 2"])
        #expect(deeds(simulation) { simulation.comeUp(0) } == ["spawn b 1"])
        #expect(deeds(simulation) { simulation.comeUp(1) } == ["spawn c 1"])
    }

    @Test("one that is added is the last in the order: rest-for-one takes it along with any, and none with it")
    func addedIsLast() {
        let simulation = running("a", "b", strategy: .restForOne)
        simulation.give(.childrenAdded([child("c")]))
        simulation.give(.startChildRequested(index: 2))
        simulation.allComeUp()
        #expect(deeds(simulation) { simulation.exit(1) } == ["drain c"])
        #expect(deeds(simulation) { simulation.exit(2, .exited(status: 0), isOrderly: true) }.isEmpty)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn b 2", "spawn c 2"])
        simulation.allComeUp()
        #expect(deeds(simulation) { simulation.exit(2) }.isEmpty)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn c 3"])
    }

    @Test("one that is added while a group restarts starts at once, and is no part of that")
    func addedDuringAGroupRestart() {
        let simulation = running("a", "b", strategy: .oneForAll)
        simulation.exit(0)
        simulation.give(.childrenAdded([child("c")]))
        #expect(deeds(simulation) { simulation.give(.startChildRequested(index: 2)) } == ["spawn c 1"])
        simulation.allComeUp()
        simulation.exit(1, .exited(status: 0), isOrderly: true)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn a 2", "spawn b 2"])
    }

    @Test("one that was given up and is removed does not come back with its siblings")
    func removedAfterItWasGivenUp() {
        let simulation = running("a", "b", strategy: .oneForAll)
        simulation.exit(0, blame: .beyondHelp("useless"))
        for index in 0...1 where !simulation.state(index).isAtRest { simulation.exit(index) }
        #expect(simulation.status.map(\.state.isAtRest) == [true, true])
        #expect(deeds(simulation) { simulation.give(.removeChildRequested(index: 0)) } == ["removed a"])
        #expect(deeds(simulation) { simulation.give(.restartRequested(index: 1)) } == ["spawn b 2"])
    }

    @Test("one that is removed drains, and when it has ended that is told, once; nothing brings it back")
    func removed() {
        let simulation = running("a", "b")
        #expect(deeds(simulation) { simulation.give(.removeChildRequested(index: 0)) } == ["drain a"])
        #expect(deeds(simulation) { simulation.drained(0) }.isEmpty)
        #expect(deeds(simulation) { simulation.exit(0, .exited(status: 0)) } == ["removed a"])
        for input in [
            .restartRequested(index: 0), .startChildRequested(index: 0), .removeChildRequested(index: 0),
            .stopChildRequested(index: 0), .demandArose(index: 0),
        ] as [SupervisorInput] {
            #expect(deeds(simulation) { simulation.give(input) }.isEmpty)
        }
        #expect(simulation.state(0) == .stopped)
        #expect(
            deeds(simulation) { simulation.give(simulation.replacement(of: 0)) } == ["not replaced: it was removed"]
        )
        #expect(simulation.stopToTheEnd())
        #expect(deeds(simulation) { simulation.start() } == ["spawn b 2"])
    }

    @Test("one that does not drain is ended by its signals")
    func removedHangs() {
        let simulation = running("a")
        simulation.give(.removeChildRequested(index: 0))
        #expect(deeds(simulation) { simulation.fireNext() } == ["SIGTERM a"])
        #expect(deeds(simulation) { simulation.fireNext() } == ["SIGKILL a"])
        let end = ExitReason.signaled(number: 9, coreDumped: false)
        #expect(deeds(simulation) { simulation.exit(0, end) } == ["removed a"])
    }

    @Test("one that is down is removed at once, whatever it is down for")
    func removedWhileDown() {
        for bringDown: (Simulation) -> Void in [
            { $0.exit(0) }, { $0.isGivenUp(0) }, { $0.stop(0) },
        ] {
            let simulation = running("a", "b")
            bringDown(simulation)
            #expect(deeds(simulation) { simulation.give(.removeChildRequested(index: 0)) } == ["removed a"])
            #expect(simulation.state(0) == .stopped)
            #expect(!simulation.fireNext())
        }
    }

    @Test("the process that was to take the place of one that is removed ends, too, before that is told")
    func removedWhileReplaced() {
        let simulation = running("a")
        simulation.replace(0)
        #expect(
            deeds(simulation) { simulation.give(.removeChildRequested(index: 0)) } == [
                "drain a", "SIGTERM the one beside a",
            ]
        )
        #expect(deeds(simulation) { simulation.exit(0, .exited(status: 0), isOrderly: true) }.isEmpty)
        #expect(
            deeds(simulation) { simulation.exit(0, .exited(status: 0), successor: true) } == [
                "not replaced: it was stopped", "removed a",
            ]
        )
    }

    @Test("a sibling's restart and a sibling's end leave alone who is being removed")
    func removedInAGroup() {
        let simulation = running("a", "b", "c", strategy: .oneForAll)
        simulation.give(.removeChildRequested(index: 1))
        #expect(deeds(simulation) { simulation.exit(0) } == ["drain c"])
        #expect(deeds(simulation) { simulation.exit(1, .exited(status: 0), isOrderly: true) } == ["removed b"])
        simulation.exit(2, .exited(status: 0), isOrderly: true)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn a 2", "spawn c 2"])
    }

    @Test("one that a group waits for is removed, and the group comes back without it")
    func removedWhileRejoining() {
        let simulation = running("a", "b", strategy: .oneForAll)
        simulation.exit(0)
        simulation.give(.removeChildRequested(index: 1))
        #expect(deeds(simulation) { simulation.exit(1, .exited(status: 0), isOrderly: true) } == ["removed b"])
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn a 2"])
    }

    @Test("a stop that comes meanwhile goes in order, and is told behind the removal")
    func stopped() {
        let simulation = running("a", "b")
        simulation.give(.removeChildRequested(index: 0))
        #expect(deeds(simulation) { simulation.give(.stopRequested) } == ["drain b"])
        #expect(deeds(simulation) { simulation.exit(1, .exited(status: 0), isOrderly: true) }.isEmpty)
        #expect(
            deeds(simulation) { simulation.exit(0, .exited(status: 0), isOrderly: true) } == [
                "removed a", "all stopped",
            ]
        )
    }

    @Test("a removal that is asked for while all stop waits for its turn in that")
    func removedWhileStopping() {
        let simulation = running("a", "b")
        simulation.give(.stopRequested)
        #expect(deeds(simulation) { simulation.give(.removeChildRequested(index: 0)) }.isEmpty)
        #expect(deeds(simulation) { simulation.exit(1, .exited(status: 0), isOrderly: true) } == ["drain a"])
        #expect(
            deeds(simulation) { simulation.exit(0, .exited(status: 0), isOrderly: true) } == [
                "removed a", "all stopped",
            ]
        )
    }

    @Test("a start does not wait for one that is removed meanwhile")
    func removedDuringTheStart() {
        let simulation = Simulation([child("a"), child("b")])
        simulation.start()
        simulation.comeUp(1)
        #expect(simulation.startupResults.isEmpty)
        simulation.give(.removeChildRequested(index: 0))
        #expect(simulation.startupResults.count == 1)
        #expect(simulation.breaches.isEmpty)
    }

    @Test("the removal of a significant one ends nothing")
    func removedSignificant() {
        let simulation = Simulation(
            [child("a", restart: .transient, isSignificant: true), child("b")],
            automaticShutdown: .anySignificant
        )
        simulation.startAll()
        simulation.give(.removeChildRequested(index: 0))
        #expect(deeds(simulation) { simulation.exit(0, .exited(status: 0), isOrderly: true) } == ["removed a"])
        #expect(simulation.state(1) == .ready)
    }
}

extension Simulation {
    fileprivate func stop(_ index: Int) {
        give(.stopChildRequested(index: index))
        exit(index, .exited(status: 0), isOrderly: true)
    }

    fileprivate func isGivenUp(_ index: Int) {
        exit(index, blame: .beyondHelp("useless"))
    }
}
