import Supervision
import Testing

@testable import EventBridge

@Suite("Whether a worker is started without the end of another", .timeLimit(.minutes(1)))
struct StartsByItselfTests {
    private func status(_ state: ChildState, starts: Int, ended: Int? = nil) -> ChildStatus {
        let deaths = ended.map { ChildDeath(time: .zero, start: $0, reason: .reapedElsewhere, wasAsked: false) }
        return ChildStatus(name: "worker", state: state, starts: starts, deaths: deaths.map { [$0] } ?? [])
    }

    @Test("Not before its start is asked for, nor while it waits for its group or for those before it")
    func others() {
        #expect(!status(.notStarted, starts: 0).startsByItself)
        #expect(!status(.starting, starts: 0).startsByItself)
        #expect(!status(.starting, starts: 2, ended: 2).startsByItself)
        #expect(!status(.backingOff(attempt: 1, until: nil), starts: 1, ended: 1).startsByItself)
    }

    @Test("Once it is being started, runs, or waits for a time")
    func itself() {
        #expect(status(.starting, starts: 1).startsByItself)
        #expect(status(.starting, starts: 3, ended: 2).startsByItself)
        #expect(status(.backingOff(attempt: 1, until: .seconds(1)), starts: 1, ended: 1).startsByItself)
        #expect(status(.dormant, starts: 0).startsByItself)
        #expect(status(.ready, starts: 1).startsByItself)
    }
}
