import Dispatch
import Supervision
import Testing

/// The owner of the machine: its calls to the environment, their order, and calls from many threads.
@Suite struct SupervisorTests {
    @Test(.timeLimit(.minutes(5))) func lifeFromStartToStopIsPerformedInOrder() {
        let environment = FakeEnvironment(names: ["a", "b"])
        let supervisor = environment.makeSupervisor()
        supervisor.startRequested()
        supervisor.childSpawned(index: 0, start: 1, pid: 10)
        supervisor.childSpawned(index: 1, start: 1, pid: 11)
        supervisor.childBecameReady(index: 0, start: 1)
        supervisor.childBecameReady(index: 1, start: 1)
        #expect(supervisor.status.map(\.pid) == [10, 11])
        supervisor.childExited(index: 0, start: 1, reason: segmentationFault)
        environment.pass(.milliseconds(100))
        supervisor.childSpawned(index: 0, start: 2, pid: 12)
        supervisor.stopRequested()
        environment.pass(.seconds(5))
        supervisor.childExited(index: 1, start: 1, reason: .exited(status: 0), isOrderly: true)
        supervisor.stopEscalated()
        supervisor.childExited(index: 0, start: 2, reason: .signaled(number: 15, coreDumped: false))
        #expect(
            environment.deeds == [
                "launch a 1", "launch b 1", "all ready", "launch a 2", "drain b", "SIGTERM b", "SIGTERM a",
                "all stopped",
            ]
        )
        #expect(environment.runningTimers == 0)
        #expect(environment.handles == 0)
        #expect(environment.reported == supervisor.status)
    }

    @Test(
        "N10: a child that a debugger holds is not ended because it is not ready, and has all of its time afterwards",
        .timeLimit(.minutes(5))
    )
    func debuggedChildIsNotLate() {
        let environment = FakeEnvironment(names: ["a"])
        let supervisor = environment.makeSupervisor()
        supervisor.startRequested()
        supervisor.childSpawned(index: 0, start: 1, pid: 10)
        environment.isBeingDebugged = true
        environment.pass(.seconds(3_600))
        #expect(environment.deeds == ["launch a 1"])
        environment.isBeingDebugged = false
        environment.pass(.seconds(9))
        #expect(environment.deeds == ["launch a 1"])
        environment.pass(.seconds(2))
        #expect(environment.deeds == ["launch a 1", "SIGTERM a", "SIGKILL a"])
    }

    @Test(
        "of a removed child only its name is kept, once its last status was reported and its removal was told",
        .timeLimit(.minutes(5))
    )
    func removedChildIsForgotten() {
        let environment = FakeEnvironment(names: ["a", "b"])
        let supervisor = environment.makeSupervisor()
        supervisor.startRequested()
        supervisor.childSpawned(index: 0, start: 1, pid: 10)
        supervisor.childExited(index: 0, start: 1, reason: segmentationFault)
        #expect(supervisor.status.first?.deaths.count == 1)
        supervisor.removeChildRequested(index: 0)
        #expect(environment.deeds.last == "removed a")
        #expect(environment.reported.first?.lastExit == segmentationFault)
        #expect(supervisor.status.map(\.name) == ["a", "b"])
        #expect(supervisor.status.first == ChildStatus(name: "a", state: .stopped))
        // What comes late is about nothing, and nothing is reported about it.
        supervisor.childExited(index: 0, start: 1, reason: segmentationFault)
        supervisor.restartRequested(index: 0)
        supervisor.stopRequested()
        #expect(environment.reported.first?.lastExit == segmentationFault)
        #expect(supervisor.status.first == ChildStatus(name: "a", state: .stopped))
    }

    @Test(.timeLimit(.minutes(5))) func replacementIsPerformedInOrder() {
        let environment = FakeEnvironment(names: ["a"])
        let supervisor = environment.makeSupervisor()
        supervisor.startRequested()
        supervisor.childSpawned(index: 0, start: 1, pid: 10)
        supervisor.childBecameReady(index: 0, start: 1)
        let request = ReplacementRequest(number: 7, specification: child("a"), grace: .seconds(30))
        supervisor.replaceRequested(index: 0, request)
        supervisor.replaceRequested(index: 0, ReplacementRequest(number: 8, specification: child("a"), grace: .zero))
        supervisor.childSpawned(index: 0, start: 2, pid: 11)
        #expect(supervisor.status.first?.replacement == ChildReplacement(start: 2, pid: 11))
        environment.isBeingDebugged = true
        environment.pass(.seconds(3_600))
        environment.isBeingDebugged = false
        supervisor.childBecameReady(index: 0, start: 2)
        supervisor.replacementCalledOff(request: 7)
        supervisor.childExited(index: 0, start: 1, reason: .exited(status: 0), isOrderly: true)
        #expect(
            environment.deeds == [
                "launch a 1", "all ready", "launch a 2 beside it",
                "8: failed(\"it is being replaced already\")", "keep a", "adopt a", "drain a", "cut over a 2",
                "7: replaced(old: Optional(10), new: Optional(11))",
            ]
        )
        #expect(supervisor.status.first?.pid == 11)
        #expect(supervisor.status.first?.starts == 2)
        #expect(supervisor.status.first?.deaths.map(\.wasAsked) == [true])
        #expect(environment.runningTimers == 0)
        #expect(environment.reported == supervisor.status)
    }

    @Test(.timeLimit(.minutes(5))) func startupFailureIsTold() {
        let environment = FakeEnvironment(names: ["a"])
        let supervisor = environment.makeSupervisor()
        supervisor.startRequested()
        supervisor.childSpawnFailed(index: 0, start: 1, reason: .spawnFailed("/bin/x is missing", errno: 2))
        #expect(
            environment.deeds == [
                "launch a 1",
                "child \"a\" did not become ready: could not be started: /bin/x is missing (errno 2)",
            ]
        )
    }

    @Test(.timeLimit(.minutes(5))) func inputsFromInsideACallAreActedUponAfterIt() {
        let environment = FakeEnvironment(names: ["a", "b"])
        let supervisor = environment.makeSupervisor()
        environment.answersLaunches = true
        supervisor.startRequested()
        #expect(environment.deeds == ["launch a 1", "launch b 1", "all ready"])
        #expect(environment.overlaps == 0)
    }

    @Test(.timeLimit(.minutes(5))) func whatWasRequestedIsPerformedBeforeTheCallerIsTold() {
        let environment = FakeEnvironment(names: ["a", "b"])
        let supervisor = environment.makeSupervisor()
        environment.answersLaunches = true
        supervisor.startRequested()
        supervisor.stopChildRequested(index: 1)
        supervisor.childExited(index: 1, start: 1, reason: .exited(status: 0))
        // Another thread performs while the requests come.
        environment.insideDrain = {
            supervisor.restartRequested(index: 1)
            supervisor.whenPerformed { environment.note("told") }
        }
        supervisor.stopChildRequested(index: 0)
        #expect(
            environment.deeds == [
                "launch a 1", "launch b 1", "all ready", "drain b", "drain a", "launch b 2", "told",
            ]
        )
        supervisor.whenPerformed { environment.note("told again") }
        #expect(environment.deeds.last == "told again")
    }

    @Test(.timeLimit(.minutes(5))) func timerThatFiresBeforeItsHandleIsKnownIsTaken() {
        let environment = FakeEnvironment(names: ["a"])
        let supervisor = environment.makeSupervisor()
        environment.answersLaunches = true
        environment.firesAtOnce = true
        supervisor.startRequested()
        supervisor.stopRequested()
        #expect(environment.deeds == ["launch a 1", "all ready", "drain a", "SIGTERM a", "SIGKILL a"])
        #expect(environment.handles == 0, "the supervisor keeps no handle of a timer that has fired")
    }

    @Test(.timeLimit(.minutes(5))) func nothingIsDoneForAnEnvironmentThatIsGone() {
        var environment: FakeEnvironment? = FakeEnvironment(names: ["a"])
        let supervisor = environment?.makeSupervisor()
        supervisor?.startRequested()
        environment = nil
        supervisor?.childSpawned(index: 0, start: 1, pid: 10)
        #expect(supervisor?.status.first?.pid == nil)
    }

    @Test(.timeLimit(.minutes(5)), arguments: RestartStrategy.allCases)
    func inputsFromTwoThreadsAreServedOneAtATimeAndInOrder(strategy: RestartStrategy) {
        let environment = FakeEnvironment(names: ["a", "b"])
        let supervisor = environment.makeSupervisor(strategy: strategy)
        environment.answersLaunches = true
        environment.killsAtOnce = true
        environment.firesAtOnce = true
        supervisor.startRequested()
        DispatchQueue.concurrentPerform(iterations: 2) { index in
            for _ in 0..<2_000 {
                let start = supervisor.status[index].starts
                supervisor.childExited(
                    index: index,
                    start: start,
                    reason: segmentationFault,
                    blame: .elsewhere
                )
            }
        }
        #expect(environment.overlaps == 0)
        #expect(environment.launchesOutOfTurn == 0)
        #expect(environment.reported == supervisor.status)
        #expect(supervisor.status.allSatisfy { $0.starts > 1 })
        supervisor.stopRequested()
        #expect(environment.deeds.count { $0 == "all stopped" } == 1)
        #expect(environment.reported == supervisor.status)
    }
}
