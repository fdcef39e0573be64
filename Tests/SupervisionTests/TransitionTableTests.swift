import Supervision
import Testing

/// Every state of a child times every input.
@Suite struct TransitionTableTests {
    /// How to bring child 0 of a simulation into each state.
    static let states: [(name: String, reach: @Sendable (Simulation) -> Void)] = [
        ("idle", { _ in }),
        ("spawning", { $0.start() }),
        (
            "spawning, to be stopped",
            {
                $0.start()
                $0.give(.stopChildRequested(index: 0))
            }
        ),
        (
            "starting",
            {
                $0.start()
                $0.spawned(0)
            }
        ),
        ("ready", { $0.startAll() }),
        (
            "draining",
            {
                $0.startAll()
                $0.give(.stopChildRequested(index: 0))
            }
        ),
        (
            "leaving",
            {
                $0.startAll()
                $0.drained(0)
            }
        ),
        (
            "terminating",
            {
                $0.startAll()
                $0.give(.stopChildRequested(index: 0))
                $0.fireNext()
            }
        ),
        (
            "killed",
            {
                $0.startAll()
                $0.violated(0, .protocolViolation("bad frame"))
            }
        ),
        (
            "restarting",
            {
                $0.startAll()
                $0.give(.restartRequested(index: 0))
            }
        ),
        (
            "being given up",
            {
                $0.startAll()
                $0.give(.giveUpRequested(index: 0, reason: "useless"))
            }
        ),
        (
            "down for now",
            {
                $0.startAll()
                $0.exit(0)
            }
        ),
        (
            "stopped",
            {
                $0.startAll()
                $0.give(.stopChildRequested(index: 0))
                $0.exit(0)
            }
        ),
        (
            "gave up",
            {
                $0.start()
                $0.spawnFails(0, errno: 2)
            }
        ),
        (
            "stopping all",
            {
                $0.startAll()
                $0.give(.stopRequested)
            }
        ),
        (
            "all stopped",
            {
                $0.startAll()
                _ = $0.stopToTheEnd()
            }
        ),
    ]

    /// How to bring child 0, which is on demand, into each state; those that it shares with every other child are left out.
    static let demandStates: [(name: String, reach: @Sendable (Simulation) -> Void)] = [
        ("dormant", { $0.startAll() }),
        (
            "demanded",
            {
                $0.startAll()
                $0.demanded(0)
            }
        ),
        (
            "ready",
            {
                $0.startAll()
                $0.demanded(0)
                $0.allComeUp()
            }
        ),
        (
            "idle, draining",
            {
                $0.startAll()
                $0.demanded(0)
                $0.allComeUp()
                $0.idled(0)
            }
        ),
        (
            "idle, leaving",
            {
                $0.startAll()
                $0.demanded(0)
                $0.allComeUp()
                $0.idled(0)
                $0.drained(0)
            }
        ),
        (
            "down for now",
            {
                $0.startAll()
                $0.demanded(0)
                $0.allComeUp()
                $0.exit(0)
            }
        ),
        (
            "dormant again",
            {
                $0.startAll()
                $0.demanded(0)
                $0.allComeUp()
                $0.idled(0)
                $0.exit(0, .exited(status: 0))
            }
        ),
    ]

    static let inputs: [(name: String, input: @Sendable (Simulation) -> SupervisorInput?)] = [
        ("spawned", { .childSpawned(index: 0, incarnation: $0.incarnation(0), pid: 7) }),
        (
            "spawn failed",
            {
                .childSpawnFailed(
                    index: 0,
                    incarnation: $0.incarnation(0),
                    reason: .spawnFailed("full", errno: 11)
                )
            }
        ),
        ("ready", { .childBecameReady(index: 0, incarnation: $0.incarnation(0)) }),
        ("exit 0", { exited($0, .exited(status: 0), isOrderly: false) }),
        ("crash", { exited($0, segmentationFault, isOrderly: false) }),
        ("crash over an event", { exited($0, segmentationFault, isOrderly: false, blame: .elsewhere) }),
        ("last crash", { exited($0, segmentationFault, isOrderly: false, blame: .beyondHelp("broken")) }),
        ("orderly end", { exited($0, .exited(status: 3), isOrderly: true) }),
        ("violation", { violated($0, .protocolViolation("bad frame")) }),
        ("rejected", { violated($0, .handshakeRejected("version 2")) }),
        ("missed", { .heartbeatMissed(index: 0, incarnation: $0.incarnation(0), after: .seconds(3)) }),
        (
            "overdue",
            { .handlerTimedOut(index: 0, incarnation: $0.incarnation(0), event: "E", after: .seconds(9)) }
        ),
        ("goodbye", { .childDrained(index: 0, incarnation: $0.incarnation(0)) }),
        ("more time", { .childAskedForTime(index: 0, incarnation: $0.incarnation(0), more: .seconds(60)) }),
        ("idled", { .childIdled(index: 0, incarnation: $0.incarnation(0)) }),
        ("demand", { _ in .demandArose(index: 0) }),
        ("timer", { simulation in simulation.timers.first.map { .timerFired($0.token) } }),
        ("start", { _ in .startRequested }),
        ("restart", { _ in .restartRequested(index: 0) }),
        ("stop child", { _ in .stopChildRequested(index: 0) }),
        ("give up", { _ in .giveUpRequested(index: 0, reason: "useless") }),
        ("stop", { _ in .stopRequested }),
        ("hurry", { _ in .stopHurried }),
    ]

    private static func exited(
        _ simulation: Simulation,
        _ reason: ExitReason,
        isOrderly: Bool,
        blame: ExitBlame = .child
    ) -> SupervisorInput {
        .childExited(
            index: 0,
            incarnation: simulation.incarnation(0),
            reason: reason,
            isOrderly: isOrderly,
            blame: blame
        )
    }

    private static func violated(_ simulation: Simulation, _ reason: ExitReason) -> SupervisorInput {
        .childViolated(index: 0, incarnation: simulation.incarnation(0), reason: reason)
    }

    /// One cell: the state that follows, and what is done; nil if the state stays as it is and nothing is done.
    private static func cell(
        _ specification: ChildSpecification,
        _ reach: (Simulation) -> Void,
        _ input: Int
    ) -> String? {
        let simulation = Simulation([specification])
        reach(simulation)
        let before = (state: simulation.state(0), count: simulation.log.count)
        guard let given = inputs[input].input(simulation) else { return nil }
        simulation.take(given)
        let deeds = simulation.deeds(since: before.count)
        if simulation.state(0) == before.state, deeds.isEmpty { return nil }
        let words = simulation.state(0).description.split(separator: ":")[0].split(separator: " (")[0]
        return "\(inputs[input].name) -> " + ([String(words)] + deeds).joined(separator: "; ")
    }

    @Test(arguments: states.indices)
    func singleChildGoesWhereTheTableSays(state: Int) {
        let row = Self.inputs.indices.compactMap { Self.cell(child("a"), Self.states[state].reach, $0) }
        #expect(row == expectedTransitions[Self.states[state].name])
    }

    @Test(arguments: demandStates.indices)
    func singleChildOnDemandGoesWhereTheTableSays(state: Int) {
        let specification = child("a", onDemand: OnDemand())
        let row = Self.inputs.indices.compactMap { Self.cell(specification, Self.demandStates[state].reach, $0) }
        #expect(row == expectedDemandTransitions[Self.demandStates[state].name])
    }

    @Test(arguments: RestartStrategy.allCases, [false, true])
    func everyInputInEveryStateOnDemandKeepsTheInvariants(strategy: RestartStrategy, startsInSequence: Bool) {
        for state in Self.demandStates {
            for input in Self.inputs {
                let simulation = Simulation(
                    [child("a", onDemand: OnDemand()), child("b", onDemand: OnDemand()), child("c")],
                    strategy: strategy,
                    startsInSequence: startsInSequence
                )
                state.reach(simulation)
                if let given = input.input(simulation) { simulation.take(given) }
                #expect(simulation.stopToTheEnd(), "\(input.name) in \(state.name)")
                #expect(simulation.breaches.isEmpty, "\(input.name) in \(state.name)")
            }
        }
    }

    @Test(arguments: RestartStrategy.allCases, [false, true])
    func everyInputInEveryStateKeepsTheInvariants(strategy: RestartStrategy, startsInSequence: Bool) {
        for state in Self.states {
            for input in Self.inputs {
                let simulation = Simulation(
                    [child("a"), child("b", restart: .transient), child("c", restart: .temporary)],
                    strategy: strategy,
                    startsInSequence: startsInSequence
                )
                state.reach(simulation)
                if let given = input.input(simulation) { simulation.take(given) }
                let stopsBefore = simulation.stopsAnnounced
                let wasStopped = simulation.machine.status.allSatisfy { $0.state.isAtRest } && stopsBefore > 0
                let place = Comment(rawValue: "\(input.name) in \(state.name)")
                #expect(simulation.stopToTheEnd(), place)
                #expect(simulation.stopsAnnounced == (wasStopped ? stopsBefore : stopsBefore + 1), place)
                #expect(simulation.breaches.isEmpty, place)
            }
        }
    }

    @Test func newsOfADeadIncarnationOrOfNobodyIsIgnored() {
        for (index, incarnation) in [(0, 1), (0, 3), (0, -1), (1, 1), (-1, 1), (.max, 2)] {
            let simulation = Simulation([child("a")])
            simulation.startAll()
            simulation.exit(0)
            simulation.fireNext()
            simulation.allComeUp()
            #expect(simulation.incarnation(0) == 2)
            let before = simulation.status
            for input: SupervisorInput in [
                .childSpawned(index: index, incarnation: incarnation, pid: 9),
                .childSpawnFailed(index: index, incarnation: incarnation, reason: segmentationFault),
                .childBecameReady(index: index, incarnation: incarnation),
                .childExited(
                    index: index,
                    incarnation: incarnation,
                    reason: segmentationFault,
                    isOrderly: true,
                    blame: .child
                ),
                .childViolated(index: index, incarnation: incarnation, reason: .protocolViolation("late")),
                .heartbeatMissed(index: index, incarnation: incarnation, after: .seconds(3)),
                .handlerTimedOut(index: index, incarnation: incarnation, event: "E", after: .seconds(9)),
                .childDrained(index: index, incarnation: incarnation),
                .childIdled(index: index, incarnation: incarnation),
                .childAskedForTime(index: index, incarnation: incarnation, more: .seconds(1)),
            ] {
                #expect(simulation.give(input).isEmpty)
            }
            #expect(simulation.status == before)
        }
        let simulation = Simulation([child("a")])
        simulation.startAll()
        for index in [-1, 1, .max] {
            #expect(simulation.give(.restartRequested(index: index)).isEmpty)
            #expect(simulation.give(.stopChildRequested(index: index)).isEmpty)
            #expect(simulation.give(.giveUpRequested(index: index, reason: "no")).isEmpty)
            #expect(simulation.give(.demandArose(index: index)).isEmpty)
        }
    }

    @Test func timerOfAFinishedPhaseIsIgnored() {
        let simulation = Simulation([child("a")])
        simulation.start()
        simulation.spawned(0)
        let handshake = simulation.timers[0].token
        simulation.ready(0)
        #expect(simulation.give(.timerFired(handshake)).isEmpty)
        simulation.exit(0)
        #expect(simulation.give(.timerFired(handshake)).isEmpty)
        #expect(simulation.state(0) == .backingOff(attempt: 1, until: .milliseconds(100)))
    }
}
