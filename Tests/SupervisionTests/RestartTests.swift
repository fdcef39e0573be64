import Supervision
import Testing

/// Which children are restarted after an end, when, and how often.
@Suite struct RestartTests {
    // MARK: Back-off

    @Test func waitDoublesWithEachFailureUpToItsLimit() {
        let simulation = Simulation(
            [child("a", backoff: .exponential(from: .milliseconds(100), to: .milliseconds(900), jitter: 0))],
            intensity: RestartIntensity(restarts: 100, within: .seconds(1))
        )
        simulation.startAll()
        var waits: [Duration] = []
        for attempt in 1...6 {
            let failedAt = simulation.now
            simulation.exit(0)
            guard case .backingOff(attempt, let until?) = simulation.state(0) else {
                Issue.record("it is \(simulation.state(0)) after failure \(attempt)")
                return
            }
            waits.append(until - failedAt)
            simulation.fireNext()
            #expect(simulation.now == until)
            simulation.allComeUp()
        }
        #expect(waits == [100, 200, 400, 800, 900, 900].map { .milliseconds($0) })
    }

    @Test func failureAfterTimeInGoodHealthCountsAsTheFirst() {
        let simulation = Simulation(
            [child("a", backoff: .exponential(jitter: 0, resetsAfter: .seconds(3)))],
            intensity: RestartIntensity(restarts: 100, within: .seconds(1))
        )
        simulation.startAll()
        func attemptAfterReady(for time: Duration) -> ChildState {
            simulation.pass(time)
            simulation.exit(0)
            defer {
                simulation.fireNext()
                simulation.allComeUp()
            }
            return simulation.state(0)
        }
        func isAttempt(_ attempt: Int, _ state: ChildState) -> Bool {
            if case .backingOff(attempt, _) = state { true } else { false }
        }
        #expect(isAttempt(1, attemptAfterReady(for: .zero)))
        #expect(isAttempt(2, attemptAfterReady(for: .milliseconds(2_999))))
        #expect(isAttempt(1, attemptAfterReady(for: .seconds(3))))
    }

    @Test func timeBeforeItIsReadyIsNotGoodHealth() {
        let simulation = Simulation([child("a")], intensity: RestartIntensity(restarts: 100, within: .seconds(1)))
        simulation.startAll()
        simulation.exit(0)
        simulation.fireNext()
        simulation.spawned(0)
        simulation.pass(.milliseconds(9_999))
        simulation.exit(0)
        guard case .backingOff(attempt: 2, _) = simulation.state(0) else {
            Issue.record("it is \(simulation.state(0))")
            return
        }
    }

    @Test func jitterTakesOffItsPartAtMost() {
        let backoff = Backoff.exponential(from: .seconds(1), to: .seconds(8), jitter: 0.25)
        var random = SplitMix64(seed: 42)
        var shortest = Duration.seconds(8)
        for _ in 0..<1_000 {
            for (failures, nominal) in [(1, 1), (2, 2), (4, 8), (5, 8), (Int.max, 8)] {
                let delay = backoff.delay(afterFailures: failures, using: &random)
                #expect(delay <= .seconds(nominal))
                #expect(delay >= .milliseconds(nominal * 750))
                if failures == 5 { shortest = min(shortest, delay) }
            }
        }
        #expect(shortest < .milliseconds(6_100), "a thousand draws come close to the bound")
    }

    @Test func sameSeedGivesTheSameWaits() {
        func waits(seed: UInt64) -> [Duration] {
            let simulation = Simulation([child("a", backoff: .exponential(jitter: 1))], seed: seed)
            simulation.startAll()
            return (0..<5).map { _ in
                let failedAt = simulation.now
                simulation.exit(0)
                simulation.fireNext()
                simulation.allComeUp()
                return simulation.now - failedAt
            }
        }
        #expect(waits(seed: 7) == waits(seed: 7))
        #expect(waits(seed: 7) != waits(seed: 8))
    }

    @Test func firstRestartComesAtOnceIfAskedFor() {
        let simulation = Simulation([child("a", backoff: .exponential(jitter: 0, startsAtOnce: true))])
        simulation.startAll()
        let before = simulation.log.count
        simulation.exit(0)
        #expect(simulation.deeds(since: before) == ["spawn a 2"])
        #expect(simulation.status[0].lastExit == .exited(status: 1))
        simulation.allComeUp()
        simulation.exit(0)
        #expect(simulation.state(0) == .backingOff(attempt: 2, until: .milliseconds(100)))
    }

    @Test(arguments: [
        Duration.seconds(-1), .zero, .seconds(1), Duration(secondsComponent: .max, attosecondsComponent: 0),
    ])
    func noBackoffOverflows(maximum: Duration) {
        var random = SplitMix64(seed: 1)
        for initial in [Duration.seconds(-1), .zero, .nanoseconds(1), maximum] {
            let backoff = Backoff.exponential(from: initial, to: maximum, jitter: 0)
            for failures in [0, 1, 2, 60, 1_000, .max] {
                let delay = backoff.delay(afterFailures: failures, using: &random)
                #expect(delay >= .zero && delay <= max(maximum, .zero))
            }
        }
    }

    // MARK: Intensity

    @Test func sixthFailureWithinTheWindowGivesUp() {
        let simulation = Simulation([child("a", backoff: .exponential(from: .zero, jitter: 0)), child("b")])
        simulation.startAll()
        for _ in 1...5 {
            simulation.exit(0)
            simulation.allComeUp()
            simulation.pass(.seconds(2))
        }
        #expect(simulation.status[0].restarts == 5)
        // Exactly ten seconds after the first end, which still counts.
        simulation.exit(0, segmentationFault)
        #expect(simulation.state(0) == .gaveUp(reason: "5 restarts within 10 s; last: killed by SIGSEGV (11)"))
        #expect(simulation.state(1) == .ready)
        #expect(simulation.breaches.isEmpty)
    }

    @Test func failureThatHasLeftTheWindowIsForgotten() {
        let simulation = Simulation([child("a", backoff: .exponential(from: .zero, jitter: 0))])
        simulation.startAll()
        for _ in 1...5 {
            simulation.exit(0)
            simulation.allComeUp()
        }
        simulation.pass(.seconds(10) + .nanoseconds(1))
        simulation.exit(0)
        #expect(simulation.state(0) == .starting)
    }

    @Test(arguments: RestartStrategy.allCases)
    func startsThatTakeAsLongAsTheWindowAreNotTriedForEver(strategy: RestartStrategy) {
        let simulation = Simulation([child("a")], strategy: strategy)
        simulation.start()
        for attempt in 1...6 {
            simulation.spawned(0)
            simulation.fireNext()
            simulation.exit(0, .signaled(number: 15, coreDumped: false))
            if attempt < 6 { simulation.fireNext() }
        }
        let reason = "5 restarts within 10 s; last: was not ready 10 s after its start"
        #expect(simulation.state(0) == .gaveUp(reason: reason))
        #expect(simulation.startupResults.map { $0?.reason } == [reason])
        #expect(simulation.now < .seconds(64))
        #expect(simulation.breaches.isEmpty)
    }

    @Test func windowNeverRunsBackwardsWhereAStartOverlapsWithOtherFailures() {
        var window = RestartWindow()
        let intensity = RestartIntensity(restarts: 5, within: .seconds(10))
        var isAllowed: [Bool] = []
        // The start that failed at 50 had begun at 0, and the window does not move from 47 on.
        for (second, start) in [(41, 0), (43, 0), (45, 0), (47, 0), (50, 50), (95, 0), (96, 0)] {
            isAllowed.append(
                window.allowsRestart(
                    afterFailureAt: .seconds(second),
                    ofStartThatTook: .seconds(start),
                    under: intensity
                )
            )
        }
        #expect(isAllowed == [Bool](repeating: true, count: 7))
    }

    @Test func timeBetweenStartsThatComeToNothingCounts() {
        let simulation = Simulation(
            [child("a", backoff: .exponential(from: .seconds(2), to: .seconds(2), jitter: 0))],
            intensity: RestartIntensity(restarts: 1, within: .seconds(1))
        )
        simulation.start()
        for _ in 1...20 {
            simulation.spawned(0)
            simulation.fireNext()
            simulation.exit(0)
            simulation.fireNext()
        }
        #expect(simulation.state(0) == .starting, "a pause that is longer than the window is the user's own choice")
    }

    @Test func failureThatDoesNotCountIsRestartedForEver() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        for _ in 1...50 {
            simulation.exit(0, segmentationFault, blame: .elsewhere)
            simulation.fireNext()
            simulation.allComeUp()
        }
        #expect(simulation.state(0) == .ready)
        #expect(simulation.status[0].restarts == 50)
    }

    @Test(arguments: RestartStrategy.allCases)
    func childFoundBeyondHelpIsGivenUpAtOnceWithThoseTiedToIt(strategy: RestartStrategy) {
        let simulation = Simulation([child("a"), child("b")], strategy: strategy)
        simulation.startAll()
        simulation.exit(0, segmentationFault, blame: .beyondHelp("broken"))
        #expect(simulation.state(0) == .gaveUp(reason: "broken"))
        #expect((simulation.state(1) == .ready) == (strategy == .oneForOne))
        #expect(simulation.stopToTheEnd())
        #expect(simulation.breaches.isEmpty)
    }

    @Test(arguments: [RestartType.transient, .temporary])
    func childThatIsNotRestartedAnywayIsNotGivenUp(restart: RestartType) {
        let simulation = Simulation([child("a", restart: restart)])
        simulation.startAll()
        simulation.exit(0, .exited(status: 0), blame: .beyondHelp("broken"))
        #expect(simulation.state(0) == .stopped)
    }

    @Test func deathTallyKeepsTheLastTen() {
        let simulation = Simulation([child("a")], intensity: RestartIntensity(restarts: 100, within: .seconds(10)))
        simulation.startAll()
        for status in 1...13 {
            simulation.exit(0, .exited(status: Int32(status)))
            simulation.fireNext()
            simulation.allComeUp()
        }
        let deaths = simulation.status[0].deaths
        #expect(deaths.map(\.reason) == (4...13).map { .exited(status: $0) })
        #expect(deaths.map(\.start) == Array(4...13))
        #expect(deaths.allSatisfy { !$0.wasAsked })
        #expect(simulation.status[0].starts == 14)
    }

    @Test func restartAfterGivingUpBeginsAnew() {
        let simulation = Simulation(
            [child("a", backoff: .exponential(from: .zero, jitter: 0))],
            intensity: RestartIntensity(restarts: 1, within: .seconds(10))
        )
        simulation.startAll()
        for _ in 1...2 {
            simulation.exit(0)
            simulation.allComeUp()
        }
        #expect(simulation.state(0) == .gaveUp(reason: "1 restart within 10 s; last: exited with status 1"))
        simulation.give(.restartRequested(index: 0))
        simulation.allComeUp()
        simulation.exit(0)
        simulation.allComeUp()
        #expect(simulation.state(0) == .ready, "one failure is allowed again")
        simulation.exit(0)
        #expect(simulation.state(0).isAtRest)
    }

    // MARK: Restart types

    @Test(
        arguments: [
            (RestartType.permanent, ExitReason.exited(status: 0), false, true),
            (.permanent, .exited(status: 3), false, true),
            (.permanent, .exited(status: 3), true, true),
            (.permanent, segmentationFault, false, true),
            (.transient, .exited(status: 0), false, false),
            (.transient, .exited(status: 3), false, true),
            (.transient, .exited(status: 3), true, false),
            (.transient, .protocolViolation("its outbox is damaged"), true, true),
            (.transient, segmentationFault, false, true),
            (.transient, .reapedElsewhere, false, true),
            (.temporary, .exited(status: 0), false, false),
            (.temporary, .exited(status: 3), false, false),
            (.temporary, .exited(status: 3), true, false),
            (.temporary, segmentationFault, false, false),
        ]
    )
    func restartTypeDecidesAfterAnEnd(type: RestartType, reason: ExitReason, isOrderly: Bool, restarts: Bool) {
        let simulation = Simulation([child("a", restart: type)])
        simulation.startAll()
        simulation.exit(0, reason, isOrderly: isOrderly)
        let expected: ChildState = restarts ? .backingOff(attempt: 1, until: .milliseconds(100)) : .stopped
        #expect(simulation.state(0) == expected)
        #expect(simulation.status[0].lastExit == reason)
    }

    @Test func goodbyeOfItsOwnAccordMakesTheEndNormal() {
        let simulation = Simulation([child("a", restart: .transient)])
        simulation.startAll()
        simulation.drained(0)
        simulation.exit(0, .exited(status: 70))
        #expect(simulation.state(0) == .stopped)
    }

    @Test func faultMakesTheEndAbnormalInSpiteOfAGoodbye() {
        let simulation = Simulation([child("a", restart: .transient)])
        simulation.startAll()
        simulation.violated(0, .protocolViolation("bad frame"))
        simulation.drained(0)
        simulation.exit(0, .exited(status: 0), isOrderly: true)
        #expect(simulation.state(0) == .backingOff(attempt: 1, until: .milliseconds(100)))
        #expect(simulation.status[0].lastExit == .protocolViolation("bad frame"))
    }

    // MARK: Faults

    @Test func childThatNeverBecomesReadyIsStoppedAndRestarted() {
        let simulation = Simulation([child("a")])
        simulation.start()
        simulation.spawned(0)
        let before = simulation.log.count
        simulation.pass(.seconds(10))
        simulation.pass(.seconds(1))
        #expect(simulation.deeds(since: before) == ["SIGTERM a", "SIGKILL a"])
        simulation.exit(0, .signaled(number: 9, coreDumped: false))
        #expect(simulation.status[0].lastExit == .handshakeTimedOut(after: .seconds(10)))
        #expect(simulation.state(0) == .backingOff(attempt: 1, until: .milliseconds(11_100)))
    }

    @Test func childThatAskedForTimeToBecomeReadyGetsIt() {
        let simulation = Simulation([child("a")])
        simulation.start()
        simulation.spawned(0)
        simulation.pass(.seconds(9))
        simulation.give(.childAskedForTime(index: 0, start: 1, more: .seconds(20)))
        simulation.pass(.milliseconds(19_999))
        #expect(simulation.state(0) == .starting)
        simulation.pass(.milliseconds(1))
        #expect(simulation.state(0) == .stopping)
        simulation.exit(0)
        #expect(simulation.status[0].lastExit == .handshakeTimedOut(after: .seconds(29)))
    }

    @Test("A8: time that is asked for never shortens what there is, and does not count after the child was ready")
    func askingForLittleShortensNothing() {
        let simulation = Simulation([child("a")])
        simulation.start()
        simulation.give(.childAskedForTime(index: 0, start: 1, more: .seconds(30)))
        simulation.spawned(0)
        simulation.give(.childAskedForTime(index: 0, start: 1, more: .seconds(1), because: "it reads its index"))
        simulation.pass(.milliseconds(29_999))
        #expect(simulation.state(0) == .starting)
        simulation.pass(.milliseconds(1))
        #expect(simulation.state(0) == .stopping)
        simulation.exit(0)
        #expect(
            simulation.status[0].lastExit
                == .handshakeTimedOut(after: .seconds(30), saying: "it reads its index")
        )
        #expect(
            simulation.status[0].lastExit?.description
                == "was not ready 30 s after its start, saying: it reads its index"
        )
        let another = Simulation([child("a")])
        another.start()
        another.spawned(0)
        another.give(.childAskedForTime(index: 0, start: 1, more: .seconds(3_600)))
        another.ready(0)
        another.give(.stopRequested)
        another.pass(.seconds(5))
        #expect(another.state(0) == .stopping)
    }

    @Test func unresponsiveChildIsAbortedThenKilled() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        let before = simulation.log.count
        simulation.give(.heartbeatMissed(index: 0, start: 1, after: .seconds(4), busyWith: "E (host-1-2)"))
        #expect(simulation.status[0].fault == .unresponsive(after: .seconds(4), busyWith: "E (host-1-2)"))
        simulation.pass(.milliseconds(999))
        #expect(simulation.deeds(since: before) == ["SIGABRT a"])
        simulation.pass(.milliseconds(1))
        #expect(simulation.deeds(since: before) == ["SIGABRT a", "SIGKILL a"])
        simulation.exit(0, .signaled(number: 9, coreDumped: false))
        #expect(simulation.status[0].lastExit == .unresponsive(after: .seconds(4), busyWith: "E (host-1-2)"))
        #expect(
            simulation.status[0].lastExit?.description == "gave no sign of life for 4 s while it handled E (host-1-2)"
        )
        #expect(simulation.status[0].fault == nil)
    }

    @Test("C10: a child with an event that is overdue is aborted, then killed, and the event is named")
    func overdueChildIsAbortedThenKilled() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        let before = simulation.log.count
        simulation.give(.handlerTimedOut(index: 0, start: 1, event: "BoxOrdered (host-1-7)", after: .seconds(30)))
        simulation.pass(.seconds(1))
        #expect(simulation.deeds(since: before) == ["SIGABRT a", "SIGKILL a"])
        simulation.exit(0, .signaled(number: 9, coreDumped: false))
        #expect(simulation.status[0].lastExit?.description == "had not finished BoxOrdered (host-1-7) after 30 s")
    }

    @Test func faultsCountTowardsGivingUp() {
        let simulation = Simulation(
            [child("a", backoff: .exponential(from: .zero, jitter: 0))],
            intensity: RestartIntensity(restarts: 0, within: .seconds(10))
        )
        simulation.startAll()
        simulation.violated(0, .protocolViolation("it sent a frame of 20 MiB; the limit is 16 MiB"))
        simulation.exit(0, .signaled(number: 9, coreDumped: false))
        let reason =
            "0 restarts within 10 s; last: broke the protocol: it sent a frame of 20 MiB; the limit is 16 MiB"
        #expect(simulation.state(0) == .gaveUp(reason: reason))
    }

    @Test(arguments: [2, 13, 8] as [Int32])
    func missingProgramIsGivenUpAtOnce(errno: Int32) {
        let simulation = Simulation([child("a"), child("b")])
        simulation.start()
        simulation.spawnFails(0, errno: errno)
        #expect(simulation.state(0) == .gaveUp(reason: "could not be started: no luck (errno \(errno))"))
        simulation.allComeUp()
        #expect(simulation.state(1) == .ready)
        #expect(simulation.startupResults.count == 1)
    }

    @Test func spawnThatFailsForLackOfResourcesIsTriedAgain() {
        let simulation = Simulation([child("a")])
        simulation.start()
        simulation.spawnFails(0, errno: 11)
        #expect(simulation.state(0) == .backingOff(attempt: 1, until: .milliseconds(100)))
        simulation.fireNext()
        simulation.allComeUp()
        #expect(simulation.startupResults == [nil])
    }

    @Test func programMissingWhileItIsReplacedIsTriedAgain() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        simulation.exit(0)
        simulation.fireNext()
        simulation.spawnFails(0, errno: 2)
        #expect(simulation.state(0) == .backingOff(attempt: 2, until: .milliseconds(300)))
    }

    @Test func refusedHandshakeIsGivenUpAtOnce() {
        let simulation = Simulation([child("a")])
        simulation.start()
        simulation.spawned(0)
        simulation.violated(0, .handshakeRejected("it speaks version 2; this side speaks version 1"))
        simulation.exit(0, .exited(status: 64))
        let reason = "was refused in the handshake: it speaks version 2; this side speaks version 1"
        #expect(simulation.state(0) == .gaveUp(reason: reason))
        #expect(simulation.startupResults == [StartupFailure(index: 0, name: "a", reason: reason)])
    }

    @Test(arguments: RestartType.allCases)
    func childThatCannotRunAsItIsConfiguredIsGivenUpAtOnce(_ restart: RestartType) {
        let simulation = Simulation([child("a", restart: restart)])
        simulation.startAll()
        simulation.exit(0, .exited(status: 78))
        #expect(simulation.state(0) == .gaveUp(reason: "exited with status 78"))
    }

    @Test func status78BehindAGoodbyeIsANormalEnd() {
        let simulation = Simulation([child("a")])
        simulation.startAll()
        simulation.exit(0, .exited(status: 78), isOrderly: true)
        #expect(simulation.state(0) == .backingOff(attempt: 1, until: .milliseconds(100)))
    }
}
