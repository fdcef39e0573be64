import Supervision
import Testing

@testable import supervisor

@Suite("A run has no worker left when all are at rest and it has said so of those given up")
struct RunOutcomeTests {
    private let restarted = ChildStatus(name: "w", state: .ready, starts: 1)
    private let givenUp = ChildStatus(name: "w", state: .gaveUp(reason: "2 restarts within 5 s"), starts: 2)

    @Test("a worker's state runs ahead of the report: the run goes on until it has said that the worker was given up")
    func stateAheadOfReport() {
        let outcome = RunOutcome()
        #expect(!outcome.noWorkerIsLeft(of: [restarted]))
        // The report of the worker's readiness is handled after the worker has been given up.
        outcome.workerBecameReady("w")
        #expect(!outcome.noWorkerIsLeft(of: [givenUp]))
        outcome.workerWasGivenUp("w")
        #expect(outcome.noWorkerIsLeft(of: [givenUp]))
    }

    @Test("what was said of one life does not count for the next")
    func nextLife() {
        let outcome = RunOutcome()
        outcome.workerWasGivenUp("w")
        outcome.workerBecameReady("w")
        #expect(!outcome.noWorkerIsLeft(of: [givenUp]))
    }

    @Test("what is said of one worker does not count for another; a stopped one needs no sentence")
    func others() {
        let outcome = RunOutcome()
        let second = ChildStatus(name: "second", state: .gaveUp(reason: "it does not start"), starts: 1)
        let stopped = ChildStatus(name: "third", state: .stopped, starts: 1)
        outcome.workerWasGivenUp("w")
        #expect(!outcome.noWorkerIsLeft(of: [givenUp, second, stopped]))
        outcome.workerWasGivenUp("second")
        #expect(outcome.noWorkerIsLeft(of: [givenUp, second, stopped]))
    }
}
