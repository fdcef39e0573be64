import Supervision
import TestSupport
import Testing

/// Every state of a child times every input.
@Suite struct TransitionTableTests {
    /// How to bring child 0 of a simulation into each state.
    static let states: [(name: String, reach: @Sendable (Simulation) -> Void)] = [
        ("not started", { _ in }),
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
            "process gone",
            {
                $0.startAll()
                $0.processEnded(0, segmentationFault)
            }
        ),
        (
            "process gone, to be stopped",
            {
                $0.startAll()
                $0.processEnded(0, segmentationFault)
                $0.give(.stopChildRequested(index: 0))
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

    /// How to bring child 0, which is on demand, into each state; states that all children have are left out.
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
            "idle, process gone",
            {
                $0.startAll()
                $0.demanded(0)
                $0.allComeUp()
                $0.idled(0)
                $0.processEnded(0, .exited(status: 0))
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

    /// How to bring child 0, which is being replaced, into each state.
    static let replacementStates: [(name: String, reach: @Sendable (Simulation) -> Void)] = [
        (
            "asked for",
            {
                $0.startAll()
                $0.give($0.replacement(of: 0))
            }
        ),
        (
            "coming up",
            {
                $0.startAll()
                $0.replace(0)
            }
        ),
        (
            "coming up, the present one starting",
            {
                $0.start()
                $0.spawned(0)
                $0.replace(0)
            }
        ),
        (
            "coming up, the present one down for now",
            {
                $0.startAll()
                $0.replace(0)
                $0.exit(0)
            }
        ),
        (
            "coming up, the present one killed",
            {
                $0.startAll()
                $0.replace(0)
                $0.violated(0, .protocolViolation("bad frame"))
            }
        ),
        (
            "coming up, the present one's process gone",
            {
                $0.startAll()
                $0.replace(0)
                $0.processEnded(0, segmentationFault)
            }
        ),
        (
            "coming up, its process gone",
            {
                $0.startAll()
                $0.replace(0)
                $0.processEnded(0, segmentationFault, successor: true)
            }
        ),
        (
            "handing over, the present one's process gone",
            {
                $0.startAll()
                $0.replace(0)
                $0.ready(0, successor: true)
                $0.processEnded(0, .exited(status: 0))
            }
        ),
        (
            "handing over, its process gone",
            {
                $0.startAll()
                $0.replace(0)
                $0.ready(0, successor: true)
                $0.processEnded(0, segmentationFault, successor: true)
            }
        ),
        (
            "handing over",
            {
                $0.startAll()
                $0.replace(0)
                $0.ready(0, successor: true)
            }
        ),
        (
            "handing over, draining too long",
            {
                $0.startAll()
                $0.replace(0)
                $0.ready(0, successor: true)
                $0.fireNext()
            }
        ),
        (
            "handing over in vain",
            {
                $0.startAll()
                $0.replace(0)
                $0.ready(0, successor: true)
                $0.exit(0, segmentationFault, successor: true)
            }
        ),
        (
            "called off before there was a process",
            {
                $0.startAll()
                $0.give($0.replacement(of: 0))
                $0.give(.replacementCalledOff(request: 1))
            }
        ),
        (
            "called off",
            {
                $0.startAll()
                $0.replace(0)
                $0.give(.replacementCalledOff(request: 1))
            }
        ),
        (
            "replaced",
            {
                $0.startAll()
                $0.replace(0)
                $0.ready(0, successor: true)
                $0.drained(0)
                $0.exit(0, .exited(status: 0), isOrderly: true)
            }
        ),
    ]

    static let inputs: [(name: String, input: @Sendable (Simulation) -> SupervisorInput?)] = [
        ("spawned", { .childSpawned(index: 0, start: $0.start(0), pid: 7) }),
        (
            "spawn failed",
            {
                .childSpawnFailed(
                    index: 0,
                    start: $0.start(0),
                    reason: .spawnFailed("full", errno: 11)
                )
            }
        ),
        ("ready", { .childBecameReady(index: 0, start: $0.start(0)) }),
        (
            "process ended",
            { .childProcessEnded(index: 0, start: $0.start(0), reason: segmentationFault) }
        ),
        ("exit 0", { exited($0, .exited(status: 0), isOrderly: false) }),
        ("crash", { exited($0, segmentationFault, isOrderly: false) }),
        ("crash over an event", { exited($0, segmentationFault, isOrderly: false, blame: .elsewhere) }),
        ("last crash", { exited($0, segmentationFault, isOrderly: false, blame: .beyondHelp("broken")) }),
        ("orderly end", { exited($0, .exited(status: 3), isOrderly: true) }),
        ("violation", { violated($0, .protocolViolation("bad frame")) }),
        ("rejected", { violated($0, .handshakeRejected("version 2")) }),
        ("missed", { .heartbeatMissed(index: 0, start: $0.start(0), after: .seconds(3)) }),
        (
            "overdue",
            { .handlerTimedOut(index: 0, start: $0.start(0), event: "E", after: .seconds(9)) }
        ),
        ("goodbye", { .childDrained(index: 0, start: $0.start(0)) }),
        ("more time", { .childAskedForTime(index: 0, start: $0.start(0), more: .seconds(60)) }),
        ("idled", { .childIdled(index: 0, start: $0.start(0)) }),
        ("demand", { _ in .demandArose(index: 0) }),
        ("timer", { simulation in simulation.timers.first.map { .timerFired($0.token) } }),
        ("start", { _ in .startRequested }),
        ("restart", { _ in .restartRequested(index: 0) }),
        ("replace", { $0.replacement(of: 0) }),
        ("stop child", { _ in .stopChildRequested(index: 0) }),
        ("stop", { _ in .stopRequested }),
        ("escalate", { _ in .stopEscalated }),
    ]

    /// The inputs about the process that starts beside the present one.
    static let successorInputs: [(name: String, input: @Sendable (Simulation) -> SupervisorInput?)] = [
        ("new spawned", { beside($0) { .childSpawned(index: 0, start: $0, pid: 8) } }),
        (
            "new spawn failed",
            { beside($0) { .childSpawnFailed(index: 0, start: $0, reason: .spawnFailed("gone", errno: 2)) } }
        ),
        ("new ready", { beside($0) { .childBecameReady(index: 0, start: $0) } }),
        (
            "new crash",
            {
                beside($0) {
                    .childExited(
                        index: 0,
                        start: $0,
                        reason: segmentationFault,
                        isOrderly: false,
                        blame: .child
                    )
                }
            }
        ),
        (
            "new process ended",
            { beside($0) { .childProcessEnded(index: 0, start: $0, reason: segmentationFault) } }
        ),
        (
            "new violation",
            { beside($0) { .childViolated(index: 0, start: $0, reason: .protocolViolation("bad frame")) } }
        ),
        (
            "new rejected",
            { beside($0) { .childViolated(index: 0, start: $0, reason: .handshakeRejected("version 2")) } }
        ),
        ("new missed", { beside($0) { .heartbeatMissed(index: 0, start: $0, after: .seconds(3)) } }),
        (
            "new overdue",
            { beside($0) { .handlerTimedOut(index: 0, start: $0, event: "E", after: .seconds(9)) } }
        ),
        ("new goodbye", { beside($0) { .childDrained(index: 0, start: $0) } }),
        ("new more time", { beside($0) { .childAskedForTime(index: 0, start: $0, more: .seconds(60)) } }),
        ("new idled", { beside($0) { .childIdled(index: 0, start: $0) } }),
        ("last timer", { simulation in simulation.timers.dropFirst().last.map { .timerFired($0.token) } }),
        ("call off", { _ in .replacementCalledOff(request: 1) }),
    ]

    /// The inputs that add and remove children.
    static let membershipInputs: [(name: String, input: @Sendable (Simulation) -> SupervisorInput?)] = [
        ("add another", { _ in .childrenAdded([child("z")]) }),
        ("start added", { _ in .startChildRequested(index: 0) }),
        ("plan to remove", { _ in .removalPlanned(index: 0) }),
        ("remove", { _ in .removeChildRequested(index: 0) }),
    ]

    /// How to bring child 0, which is added to a running supervisor or removed from it, into each state.
    static let membershipStates: [(name: String, reach: @Sendable (Simulation) -> Void)] = [
        (
            "added",
            {
                $0.startAll()
                $0.give(.childrenAdded([child("a")]))
            }
        ),
        (
            "added before the start",
            { $0.give(.childrenAdded([child("a")])) }
        ),
        (
            "added while all stop",
            {
                $0.startAll()
                $0.give(.stopRequested)
                $0.give(.childrenAdded([child("a")]))
            }
        ),
        (
            "added and started",
            {
                $0.startAll()
                $0.give(.childrenAdded([child("a")]))
                $0.give(.startChildRequested(index: 0))
            }
        ),
        (
            "removed while spawning",
            {
                $0.startAll()
                $0.give(.childrenAdded([child("a")]))
                $0.give(.startChildRequested(index: 0))
                $0.give(.removeChildRequested(index: 0))
            }
        ),
        (
            "removed, draining",
            {
                $0.give(.childrenAdded([child("a")]))
                $0.startAll()
                $0.give(.removeChildRequested(index: 0))
            }
        ),
        (
            "removed while it is replaced",
            {
                $0.give(.childrenAdded([child("a")]))
                $0.startAll()
                $0.replace(0)
                $0.give(.removeChildRequested(index: 0))
            }
        ),
        (
            "removed while it is replaced, down",
            {
                $0.give(.childrenAdded([child("a")]))
                $0.startAll()
                $0.replace(0)
                $0.give(.removeChildRequested(index: 0))
                $0.exit(0)
            }
        ),
        (
            "removed, all stopping",
            {
                $0.give(.childrenAdded([child("a")]))
                $0.startAll()
                $0.give(.removeChildRequested(index: 0))
                $0.give(.stopRequested)
            }
        ),
        (
            "removed",
            {
                $0.give(.childrenAdded([child("a")]))
                $0.startAll()
                $0.give(.removeChildRequested(index: 0))
                $0.exit(0, .exited(status: 0), isOrderly: true)
            }
        ),
    ]

    private static func beside(_ simulation: Simulation, _ input: (Int) -> SupervisorInput) -> SupervisorInput? {
        simulation.successorIncarnation(0).map(input)
    }

    private static func exited(
        _ simulation: Simulation,
        _ reason: ExitReason,
        isOrderly: Bool,
        blame: ExitBlame = .child
    ) -> SupervisorInput {
        .childExited(
            index: 0,
            start: simulation.start(0),
            reason: reason,
            isOrderly: isOrderly,
            blame: blame
        )
    }

    private static func violated(_ simulation: Simulation, _ reason: ExitReason) -> SupervisorInput {
        .childViolated(index: 0, start: simulation.start(0), reason: reason)
    }

    /// One cell: the next state and the actions; nil if the state stays and there are no actions.
    private static func cell(
        _ specification: ChildSpecification?,
        _ reach: (Simulation) -> Void,
        _ input: (name: String, input: @Sendable (Simulation) -> SupervisorInput?)
    ) -> String? {
        let simulation = Simulation([specification].compactMap(\.self))
        reach(simulation)
        let before = (state: simulation.state(0), count: simulation.log.count)
        guard let given = input.input(simulation) else { return nil }
        simulation.take(given)
        let deeds = simulation.deeds(since: before.count)
        if simulation.state(0) == before.state, deeds.isEmpty { return nil }
        let words = simulation.state(0).description.split(separator: ":")[0].split(separator: " (")[0]
        return "\(input.name) -> " + ([String(words)] + deeds).joined(separator: "; ")
    }

    @Test(arguments: states.indices)
    func singleChildGoesWhereTheTableSays(state: Int) {
        let row = Self.inputs.compactMap { Self.cell(child("a"), Self.states[state].reach, $0) }
        #expect(row == expectedTransitions[Self.states[state].name])
    }

    @Test(arguments: demandStates.indices)
    func singleChildOnDemandGoesWhereTheTableSays(state: Int) {
        let specification = child("a", onDemand: OnDemand())
        let row = Self.inputs.compactMap { Self.cell(specification, Self.demandStates[state].reach, $0) }
        #expect(row == expectedDemandTransitions[Self.demandStates[state].name])
    }

    @Test(arguments: replacementStates.indices)
    func singleChildThatIsReplacedGoesWhereTheTableSays(state: Int) {
        let inputs = Self.inputs + Self.successorInputs
        let row = inputs.compactMap { Self.cell(child("a"), Self.replacementStates[state].reach, $0) }
        #expect(row == expectedReplacementTransitions[Self.replacementStates[state].name])
    }

    @Test(arguments: membershipStates.indices)
    func singleChildThatComesOrGoesDoesWhatTheTableSays(state: Int) {
        let inputs = Self.inputs + Self.successorInputs + Self.membershipInputs
        let row = inputs.compactMap { Self.cell(nil, Self.membershipStates[state].reach, $0) }
        #expect(row == expectedMembershipTransitions[Self.membershipStates[state].name])
    }

    @Test func childComesAndGoesInEveryStateAsTheTableSays() {
        let onDemand = child("a", onDemand: OnDemand())
        for (specification, kind, states) in [
            (child("a"), "", Self.states), (onDemand, "on demand: ", Self.demandStates),
            (child("a"), "being replaced: ", Self.replacementStates),
        ] {
            for state in states {
                let row = Self.membershipInputs.compactMap { Self.cell(specification, state.reach, $0) }
                #expect(row == expectedMembership[kind + state.name], "\(kind)\(state.name)")
            }
        }
    }

    @Test(arguments: RestartStrategy.allCases, [false, true])
    func everyTwoInputsWhileChildrenComeAndGoKeepTheInvariants(strategy: RestartStrategy, startsInSequence: Bool) {
        var random = SeededGenerator.announced()
        let inputs = Self.inputs + Self.membershipInputs
        for state in Self.states + Self.membershipStates {
            for first in inputs {
                for second in share(of: Self.membershipInputs + [first], using: &random) {
                    let simulation = Simulation(
                        state.name.hasPrefix("added") || state.name.hasPrefix("removed")
                            ? [] : [child("a"), child("b", restart: .transient)],
                        strategy: strategy,
                        startsInSequence: startsInSequence
                    )
                    state.reach(simulation)
                    for input in [first, second] {
                        if let given = input.input(simulation) { simulation.take(given) }
                    }
                    let hasEnded = simulation.stopToTheEnd()
                    guard !hasEnded || !simulation.openRequests.isEmpty || !simulation.breaches.isEmpty else {
                        continue
                    }
                    Issue.record("\(first.name), then \(second.name), in \(state.name): \(simulation.breaches)")
                }
            }
        }
    }

    @Test(arguments: RestartStrategy.allCases)
    func everyTwoInputsDuringAReplacementKeepTheInvariants(strategy: RestartStrategy) {
        var random = SeededGenerator.announced()
        let inputs = Self.inputs + Self.successorInputs + Self.membershipInputs
        for state in Self.replacementStates {
            for first in inputs {
                for second in share(of: inputs, using: &random) {
                    let simulation = Simulation([child("a"), child("b", restart: .transient)], strategy: strategy)
                    state.reach(simulation)
                    for input in [first, second] {
                        if let given = input.input(simulation) { simulation.take(given) }
                    }
                    let hasEnded = simulation.stopToTheEnd()
                    guard !hasEnded || !simulation.openRequests.isEmpty || !simulation.breaches.isEmpty else {
                        continue
                    }
                    Issue.record("\(first.name), then \(second.name), in \(state.name): \(simulation.breaches)")
                }
            }
        }
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

    @Test func newsOfADeadIncarnationOrOfNoChildIsIgnored() {
        for (index, start) in [(0, 1), (0, 3), (0, -1), (1, 1), (-1, 1), (.max, 2)] {
            let simulation = Simulation([child("a")])
            simulation.startAll()
            simulation.exit(0)
            simulation.fireNext()
            simulation.allComeUp()
            #expect(simulation.start(0) == 2)
            let before = simulation.status
            for input: SupervisorInput in [
                .childSpawned(index: index, start: start, pid: 9),
                .childSpawnFailed(index: index, start: start, reason: segmentationFault),
                .childBecameReady(index: index, start: start),
                .childProcessEnded(index: index, start: start, reason: segmentationFault),
                .childExited(
                    index: index,
                    start: start,
                    reason: segmentationFault,
                    isOrderly: true,
                    blame: .child
                ),
                .childViolated(index: index, start: start, reason: .protocolViolation("late")),
                .heartbeatMissed(index: index, start: start, after: .seconds(3)),
                .handlerTimedOut(index: index, start: start, event: "E", after: .seconds(9)),
                .childDrained(index: index, start: start),
                .childIdled(index: index, start: start),
                .childAskedForTime(index: index, start: start, more: .seconds(1)),
            ] {
                #expect(simulation.give(input).isEmpty)
            }
            #expect(simulation.status == before)
        }
        let simulation = Simulation([child("a")])
        simulation.startAll()
        for index in [-1, 1, .max] {
            #expect(simulation.give(.restartRequested(index: index)).isEmpty)
            #expect(simulation.give(.replacementCalledOff(request: index)).isEmpty)
            let refused = simulation.give(simulation.replacement(of: index))
            #expect(refused.count == 1, "the caller is told")
            #expect(simulation.give(.stopChildRequested(index: index)).isEmpty)
            #expect(simulation.give(.demandArose(index: index)).isEmpty)
            #expect(simulation.give(.startChildRequested(index: index)).isEmpty)
            #expect(simulation.give(.removalPlanned(index: index)).isEmpty)
            #expect(simulation.give(.removeChildRequested(index: index)).isEmpty)
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
