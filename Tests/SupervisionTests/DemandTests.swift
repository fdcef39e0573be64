import Supervision
import Testing

/// Children that run only while they have something to do.
@Suite("Children on demand")
struct DemandTests {
    private func deeds(_ simulation: Simulation, _ body: () -> Void) -> [String] {
        let count = simulation.log.count
        body()
        #expect(simulation.breaches.isEmpty)
        return simulation.deeds(since: count)
    }

    private func running() -> Simulation {
        let simulation = Simulation([child("a", onDemand: OnDemand())])
        simulation.startAll()
        simulation.demanded(0)
        simulation.allComeUp()
        return simulation
    }

    @Test("a start does not start them, and does not wait for them")
    func startIsFinishedWithoutThem() {
        let simulation = Simulation([child("a", onDemand: OnDemand()), child("b")])
        #expect(deeds(simulation) { simulation.startAll() } == ["watch a", "spawn b 1", "all ready"])
        #expect(simulation.state(0) == .dormant)
        #expect(!simulation.state(0).isAtRest)
    }

    @Test("what comes starts it, once")
    func demandStarts() {
        let simulation = Simulation([child("a", onDemand: OnDemand())])
        simulation.startAll()
        #expect(deeds(simulation) { simulation.demanded(0) } == ["spawn a 1"])
        #expect(deeds(simulation) { simulation.demanded(0) }.isEmpty)
        #expect(simulation.status[0].restarts == 0)
    }

    @Test("when it is idle it is drained and watched again, and what came meanwhile starts it again")
    func idleStops() {
        let simulation = running()
        #expect(deeds(simulation) { simulation.idled(0) } == ["drain a"])
        #expect(deeds(simulation) { simulation.drained(0) }.isEmpty)
        #expect(deeds(simulation) { simulation.exit(0, .exited(status: 0)) } == ["watch a"])
        #expect(simulation.status[0].deaths.map(\.wasAsked) == [true])
        #expect(deeds(simulation) { simulation.demanded(0) } == ["spawn a 2"])
        #expect(simulation.status[0].restarts == 0)
    }

    @Test("after a crash it comes back when its back-off is over and something lies there for it")
    func crash() {
        let simulation = running()
        #expect(deeds(simulation) { simulation.exit(0, segmentationFault) }.isEmpty)
        #expect(deeds(simulation) { simulation.demanded(0) }.isEmpty)
        #expect(deeds(simulation) { simulation.fireNext() } == ["watch a"])
        #expect(deeds(simulation) { simulation.demanded(0) } == ["spawn a 2"])
        #expect(simulation.status[0].restarts == 1)
    }

    @Test("one that ends by itself each time is given up like any other, though its ends are normal")
    func endsByItself() {
        let simulation = running()
        for _ in 1...5 {
            simulation.exit(0, .exited(status: 0))
            simulation.fireNext()
            simulation.demanded(0)
            simulation.allComeUp()
        }
        simulation.exit(0, .exited(status: 0))
        #expect(simulation.state(0) == .gaveUp(reason: "5 restarts within 10 s; last: exited with status 0"))
    }

    @Test("a stop while it is on its way down because it was idle is a stop")
    func stopWhileIdling() {
        let simulation = running()
        simulation.idled(0)
        #expect(deeds(simulation) { simulation.give(.stopRequested) }.isEmpty)
        #expect(deeds(simulation) { simulation.exit(0, .exited(status: 0)) } == ["all stopped"])
    }

    @Test("one that waits to be stopped is not idle: events leave for it until its turn comes")
    func idleWhileItIsStopped() {
        let simulation = Simulation([child("a", onDemand: OnDemand()), child("b")])
        simulation.startAll()
        simulation.demanded(0)
        simulation.allComeUp()
        simulation.give(.stopRequested)
        #expect(deeds(simulation) { simulation.idled(0) } == ["let events leave for a"])
        simulation.exit(1, .exited(status: 0))
        #expect(deeds(simulation) { simulation.idled(0) }.isEmpty, "its own stop keeps them")
        #expect(simulation.stopToTheEnd())
        #expect(simulation.state(0) == .stopped)
    }

    @Test("a group that is restarted brings back those only for whom something lies there")
    func group() {
        let simulation = Simulation(
            [child("a", onDemand: OnDemand()), child("b"), child("c", onDemand: OnDemand())],
            strategy: .oneForAll
        )
        simulation.startAll()
        simulation.demanded(0)
        simulation.allComeUp()
        simulation.exit(1, segmentationFault)
        simulation.exit(0, .exited(status: 0))
        #expect(deeds(simulation) { simulation.fireNext() } == ["watch a", "watch c", "spawn b 2"])
        #expect(deeds(simulation) { simulation.demanded(2) } == ["spawn c 1"])
    }

    @Test("what comes while a group goes down waits until all of it is down")
    func demandWhileTheGroupGoesDown() {
        let simulation = Simulation(
            [child("a"), child("b", onDemand: OnDemand()), child("c")],
            strategy: .oneForAll
        )
        simulation.startAll()
        simulation.exit(0, segmentationFault)
        #expect(deeds(simulation) { simulation.demanded(1) }.isEmpty)
        simulation.exit(2)
        #expect(deeds(simulation) { simulation.fireNext() } == ["watch b", "spawn a 2", "spawn c 2"])
    }

    @Test("what comes while a group behind it restarts starts it once, and counts as one restart")
    func demandWhileTheGroupBehindItRestarts() {
        let simulation = Simulation([child("a", onDemand: OnDemand()), child("b")], strategy: .restForOne)
        simulation.startAll()
        simulation.demanded(0)
        simulation.allComeUp()
        simulation.exit(0, segmentationFault)
        simulation.exit(1)
        #expect(deeds(simulation) { simulation.fireNext() } == ["watch a", "spawn b 2"])
        simulation.allComeUp()
        simulation.exit(1, segmentationFault)
        #expect(deeds(simulation) { simulation.demanded(0) }.isEmpty)
        #expect(deeds(simulation) { simulation.fireNext() } == ["watch a", "spawn b 3"])
        #expect(deeds(simulation) { simulation.demanded(0) } == ["spawn a 2"])
        #expect(simulation.status[0].restarts == 1)
    }

    @Test("those that are tied to one that is given up are given up, also while they are down")
    func givenUpWithSibling() {
        let simulation = Simulation([child("a"), child("b", onDemand: OnDemand())], strategy: .restForOne)
        simulation.startAll()
        simulation.exit(0, blame: .beyondHelp("useless"))
        #expect(simulation.state(1) == .gaveUp(reason: "its sibling \"a\" was given up: useless"))
        #expect(deeds(simulation) { simulation.demanded(1) }.isEmpty)
    }

    @Test("a request starts it without anything that lies there")
    func restartRequested() {
        let simulation = Simulation([child("a", onDemand: OnDemand())])
        simulation.startAll()
        #expect(deeds(simulation) { simulation.give(.restartRequested(index: 0)) } == ["spawn a 1"])
    }

    private func runningGroup() -> Simulation {
        let simulation = Simulation(
            [child("a", onDemand: OnDemand()), child("b"), child("c")],
            strategy: .oneForAll
        )
        simulation.startAll()
        simulation.demanded(0)
        simulation.allComeUp()
        return simulation
    }

    @Test("a request while it goes down with its group starts it along with the group, though nothing lies there")
    func restartRequestedWhileTheGroupGoesDown() {
        let simulation = runningGroup()
        simulation.exit(1, segmentationFault)
        #expect(deeds(simulation) { simulation.give(.restartRequested(index: 0)) }.isEmpty)
        simulation.exit(2)
        simulation.exit(0)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn a 2", "spawn b 2", "spawn c 2"])
        simulation.allComeUp()
        #expect(simulation.state(0) == .ready)
    }

    @Test("a request while it waits for its group starts it, also while others go down", arguments: [true, false])
    func restartRequestedWhileItWaits(isDown: Bool) {
        let simulation = runningGroup()
        simulation.exit(0, segmentationFault)
        simulation.exit(2)
        if isDown {
            simulation.exit(1)
            let done = deeds(simulation) { simulation.give(.restartRequested(index: 0)) }
            #expect(done == ["spawn a 2", "spawn b 2", "spawn c 2"])
        } else {
            #expect(deeds(simulation) { simulation.give(.restartRequested(index: 0)) }.isEmpty)
            simulation.exit(1)
            #expect(deeds(simulation) { simulation.fireNext() } == ["spawn a 2", "spawn b 2", "spawn c 2"])
        }
    }

    @Test("a request that a group's restart overtakes is not forgotten")
    func groupRestartsAfterTheRequest() {
        let simulation = runningGroup()
        simulation.give(.restartRequested(index: 0))
        simulation.exit(1, segmentationFault)
        simulation.exit(2)
        simulation.exit(0)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn a 2", "spawn b 2", "spawn c 2"])
    }

    @Test("a request counts once, and not after a stop")
    func requestIsOver() {
        let simulation = runningGroup()
        simulation.give(.restartRequested(index: 0))
        simulation.exit(0)
        simulation.allComeUp()
        simulation.exit(1, segmentationFault)
        simulation.exit(2)
        simulation.exit(0)
        #expect(deeds(simulation) { simulation.fireNext() } == ["watch a", "spawn b 2", "spawn c 2"])
        simulation.allComeUp()
        simulation.exit(1, segmentationFault)
        simulation.give(.restartRequested(index: 0))
        simulation.give(.stopChildRequested(index: 0))
        simulation.exit(2)
        #expect(deeds(simulation) { simulation.fireNext() } == ["spawn b 3", "spawn c 3"])
        #expect(simulation.state(0) == .stopped)
    }

    @Test("combinations that make no sense are refused, all at once")
    func mistakes() {
        let specification = child(
            "a",
            restart: .temporary,
            isSignificant: true,
            onDemand: OnDemand(idleTime: .zero)
        )
        #expect(
            specification.validate() == [
                "child \"a\": the idle time is 0 s; it must be more than 0 s",
                "child \"a\": it is on demand, but temporary, so that nothing would bring it back; make it permanent or transient",
                "child \"a\": it is on demand and significant, but one that ends whenever it has nothing to do cannot end the others with it",
            ]
        )
    }
}

@Suite("When a child on demand has been idle long enough")
struct IdleWatchTests {
    /// A child that a test sets to busy or idle; it is looked at whenever a look is due.
    private final class Looked {
        var watch = IdleWatch(OnDemand(idleTime: .seconds(60)), from: .zero)
        var now = Duration.zero

        func look(_ activity: UInt64?, late: Duration = .zero) -> Bool {
            now = watch.nextLook + late
            return watch.looked(at: now, activity: activity)
        }

        /// The time at which it was found idle.
        func idleAfter(_ activity: UInt64) -> Duration {
            while !look(activity) {}
            return now
        }
    }

    @Test("it is idle when the idle time has passed since its last work, and a quarter more at the most")
    func idle() {
        let child = Looked()
        #expect(child.idleAfter(0) == .seconds(75))
        let worker = Looked()
        #expect(!worker.look(nil))
        #expect(!worker.look(3))
        #expect(worker.idleAfter(3) == .seconds(90))
    }

    @Test("one that does something between looks is never idle")
    func busy() {
        let child = Looked()
        for activity in 1...1_000 { #expect(!child.look(UInt64(activity))) }
    }

    @Test("one that has something in its handlers is never idle")
    func working() {
        let child = Looked()
        for _ in 1...1_000 { #expect(!child.look(nil)) }
    }

    @Test("after this process was stopped the time begins anew")
    func stoppedHost() {
        let child = Looked()
        for _ in 1...4 { #expect(!child.look(0)) }
        #expect(!child.look(0, late: .seconds(3_600)))
        let woken = child.now
        #expect(child.idleAfter(0) == woken + .seconds(60))
    }

    @Test("the shortest idle time is looked after")
    func shortest() {
        var watch = IdleWatch(OnDemand(idleTime: .nanoseconds(1)), from: .zero)
        #expect(watch.nextLook == .milliseconds(1))
        let wasIdle = watch.looked(at: watch.nextLook, activity: 0)
        #expect(!wasIdle)
        let isIdle = watch.looked(at: watch.nextLook, activity: 0)
        #expect(isIdle)
    }
}
