import Supervision
import Testing

@testable import EventBridge

@Suite("When a command about a worker is done")
struct WorkerCommandWatchTests {
    private func status(_ state: ChildState, starts: Int, lastExit: ExitReason? = nil) -> WorkerStatus {
        WorkerStatus(name: "a", state: state, starts: starts, lastExit: lastExit)
    }

    @Test("a stop is done when it is told that the worker is at rest, and not by news of an earlier rest")
    func stop() {
        let watch = WorkerCommandWatch(.stop, startsBefore: 1)
        // An update of the time before; the supervisor has newer news.
        #expect(watch.told(status(.stopped, starts: 0), now: status(.draining, starts: 1)) == .goesOn)
        #expect(watch.told(status(.stopped, starts: 1), now: status(.draining, starts: 1)) == .goesOn)
        #expect(watch.told(status(.draining, starts: 1), now: status(.stopped, starts: 1)) == .goesOn)
        #expect(watch.told(status(.stopped, starts: 1), now: status(.stopped, starts: 1)) == .done)
        #expect(watch.told(status(.stopped, starts: 1), now: status(.gaveUp(reason: "x"), starts: 1)) == .done)
    }

    @Test("a stop that another request has overtaken with a restart is told so, and does not wait for ever")
    func overtakenStop() {
        let watch = WorkerCommandWatch(.stop, startsBefore: 1)
        #expect(
            watch.told(status(.stopping, starts: 1), now: status(.starting, starts: 2))
                == .failed("was started again meanwhile, by another request")
        )
    }

    @Test("a restart is done when a start that came after it is ready, though that may have ended since")
    func restart() {
        let watch = WorkerCommandWatch(.restart, startsBefore: 1)
        #expect(watch.told(status(.ready, starts: 1), now: status(.draining, starts: 1)) == .goesOn)
        #expect(watch.told(status(.stopped, starts: 1), now: status(.starting, starts: 2)) == .goesOn)
        #expect(watch.told(status(.starting, starts: 2), now: status(.stopped, starts: 2)) == .goesOn)
        #expect(watch.told(status(.ready, starts: 2), now: status(.stopped, starts: 2)) == .done)
    }

    @Test("a restart fails when the worker comes to rest before it is ready, and says why")
    func failedRestart() {
        let watch = WorkerCommandWatch(.restart, startsBefore: 1)
        #expect(
            watch.told(status(.gaveUp(reason: "of no use"), starts: 2), now: status(.stopped, starts: 3))
                == .failed("was given up: of no use")
        )
        #expect(
            watch.told(status(.stopped, starts: 2, lastExit: .exited(status: 3)), now: status(.ready, starts: 3))
                == .failed("was stopped before it was ready: it exited with status 3")
        )
        let killed = ExitReason.atLimit(.memory, of: "1 MiB", .signaled(number: 9, coreDumped: false))
        #expect(
            watch.told(status(.stopped, starts: 2, lastExit: killed), now: status(.ready, starts: 3))
                == .failed("was stopped before it was ready: it was \(killed)")
        )
        // Stopped again before it was started: no other update will tell of that start.
        #expect(
            watch.told(status(.stopping, starts: 1), now: status(.stopped, starts: 1))
                == .failed("was stopped before it was ready")
        )
    }
}
