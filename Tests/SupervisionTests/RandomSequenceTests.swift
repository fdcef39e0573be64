import Supervision
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Random lives of random supervisors; whatever happens, the invariants hold and a stop comes to an end.
///
/// `SUPERVISION_SEED` repeats a run from the life that has this seed.
@Suite struct RandomSequenceTests {
    @Test(.timeLimit(.minutes(20))) func invariantsHoldInRandomSequences() {
        let seed = getenv("SUPERVISION_SEED").flatMap { UInt64(String(cString: $0)) } ?? .random(in: .min ... .max)
        print("SUPERVISION_SEED=\(seed)")
        for sequence in 0..<rounds(20_000) {
            let complaints = Self.play(seed: seed &+ UInt64(sequence))
            guard complaints.isEmpty else {
                Issue.record("SUPERVISION_SEED=\(seed &+ UInt64(sequence)): \(complaints)")
                return
            }
        }
    }

    /// Plays one sequence, and returns the mistakes.
    private static func play(seed: UInt64) -> [String] {
        var random = SplitMix64(seed: seed)
        let count = Int.random(in: 1...4, using: &random)
        let simulation = Simulation(
            (0..<count).map { randomChild("\($0)", using: &random) },
            strategy: RestartStrategy.allCases.randomElement(using: &random) ?? .oneForOne,
            intensity: RestartIntensity(restarts: .random(in: 0...5, using: &random), within: .seconds(10)),
            automaticShutdown: AutomaticShutdown.allCases.randomElement(using: &random) ?? .never,
            startsInSequence: .random(using: &random),
            seed: seed
        )
        for _ in 0..<Int.random(in: 5...60, using: &random) {
            simulation.take(randomInput(simulation, using: &random))
            if !simulation.breaches.isEmpty { return simulation.breaches }
        }
        let stopsBefore = simulation.stopsAnnounced
        var complaints: [String] = []
        if !simulation.stopToTheEnd() { complaints.append("the stop did not come to an end") }
        if !simulation.status.allSatisfy({ $0.state.isAtRest }) { complaints.append("a child is not at rest") }
        if simulation.stopsAnnounced > stopsBefore + 1 { complaints.append("a stop was announced twice") }
        if simulation.stopsAnnounced == 0 { complaints.append("no stop was announced") }
        return complaints + simulation.breaches
    }

    private static func randomChild(_ name: String, using random: inout SplitMix64) -> ChildSpecification {
        var child = child(
            name,
            restart: RestartType.allCases.randomElement(using: &random) ?? .permanent,
            isSignificant: Int.random(in: 0..<4, using: &random) == 0,
            onDemand: Int.random(in: 0..<3, using: &random) == 0 ? OnDemand() : nil,
            backoff: .exponential(
                from: [.zero, .milliseconds(100)].randomElement(using: &random) ?? .zero,
                startsAtOnce: .random(using: &random)
            ),
            shutdown: [.draining(), .killing, .draining(grace: .zero)].randomElement(using: &random) ?? .killing
        )
        child.standsAlone = Int.random(in: 0..<4, using: &random) == 0
        return child
    }

    private static func randomInput(_ simulation: Simulation, using random: inout SplitMix64) -> SupervisorInput {
        let count = simulation.processes.count
        // Mostly inputs that can happen, now and then news of a process that is not there or is dead.
        let isNoise = Int.random(in: 0..<10, using: &random) == 0
        let index = isNoise ? .random(in: -1...count, using: &random) : Int.random(in: 0..<count, using: &random)
        var known = simulation.processes.indices.contains(index) ? simulation.start(index) : 0
        if simulation.processes.indices.contains(index), let next = simulation.successorIncarnation(index),
            Int.random(in: 0..<3, using: &random) > 0
        {
            known = next
        }
        let start = isNoise ? known - .random(in: 0...2, using: &random) : known
        let reasons: [ExitReason] = [.exited(status: 0), .exited(status: 1), segmentationFault, .reapedElsewhere]
        let reason = reasons.randomElement(using: &random) ?? segmentationFault
        switch Int.random(in: 0..<58, using: &random) {
        case 0..<3: return .startRequested
        case 3..<10: return .childSpawned(index: index, start: start, pid: 1)
        case 10..<12:
            let errno: Int32 = Int.random(in: 0..<4, using: &random) == 0 ? 2 : 11
            let failure = ExitReason.spawnFailed("no luck", errno: errno)
            return .childSpawnFailed(index: index, start: start, reason: failure)
        case 12..<18: return .childBecameReady(index: index, start: start)
        case 18..<24, 37:
            return .childExited(
                index: index,
                start: start,
                reason: reason,
                isOrderly: .random(using: &random),
                blame: [.child, .elsewhere, .beyondHelp("useless")].randomElement(using: &random) ?? .child
            )
        case 45, 51: return .childProcessEnded(index: index, start: start, reason: reason)
        case 24:
            return .childViolated(index: index, start: start, reason: .protocolViolation("bad frame"))
        case 25:
            return .childViolated(index: index, start: start, reason: .handshakeRejected("version"))
        case 26:
            return Bool.random(using: &random)
                ? .heartbeatMissed(index: index, start: start, after: .seconds(3))
                : .handlerTimedOut(index: index, start: start, event: "E", after: .seconds(9))
        case 27, 28: return .childDrained(index: index, start: start)
        case 29: return .childAskedForTime(index: index, start: start, more: .seconds(1))
        case 30..<35:
            if isNoise, let old = simulation.firedTimers.randomElement(using: &random) { return .timerFired(old) }
            if let timer = simulation.timers.randomElement(using: &random) { return .timerFired(timer.token) }
            return .startRequested
        case 35: return .restartRequested(index: index)
        case 36: return .stopChildRequested(index: index)
        case 46..<50:
            let specification = randomChild("\(index)", using: &random)
            return simulation.replacement(
                of: index,
                by: specification,
                grace: .seconds(.random(in: 0...2, using: &random))
            )
        case 50:
            if let request = simulation.openRequests.randomElement(using: &random) {
                return .replacementCalledOff(request: request)
            }
            return .replacementCalledOff(request: -1)
        case 52:
            guard count < 7 else { return .startRequested }
            return .childrenAdded(
                (0..<Int.random(in: 1...2, using: &random)).map { randomChild("\(count + $0)", using: &random) }
            )
        case 53, 54: return .startChildRequested(index: index)
        case 55: return .removeChildRequested(index: index)
        case 57: return .removalPlanned(index: index)
        case 40...42: return .demandArose(index: index)
        case 43, 44: return .childIdled(index: index, start: start)
        case 38: return Int.random(in: 0..<4, using: &random) == 0 ? .stopRequested : .startRequested
        default: return Int.random(in: 0..<8, using: &random) == 0 ? .stopEscalated : .startRequested
        }
    }
}
