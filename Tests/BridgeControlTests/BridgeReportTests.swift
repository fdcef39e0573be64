import CBOR
import DomainEvents
import Testing

@testable import BridgeControl

@Suite("Reports of a host")
struct BridgeReportTests {
    private func passed<Value: Codable>(_ value: Value) throws -> Value {
        let buffer = CBORBuffer()
        try CBOREncoder().encode(value, into: buffer)
        return try Array(buffer.bytes).withUnsafeBytes { try CBORDecoder().decode(Value.self, from: $0) }
    }

    @Test("arrive as they were sent, with every field")
    func roundTrip() throws {
        var sent = EventTotals()
        (sent.offered, sent.rejected, sent.handled, sent.unwanted) = (.max, 1, 2, 3)
        (sent.unconfirmed, sent.refused, sent.coalesced, sent.dropped) = (4, 5, 6, 7)
        (sent.deadLettered, sent.lost, sent.waiting, sent.waitingBytes, sent.bytes) = (8, 9, 10, 11, 12)
        let worker = WorkerReport(
            name: "render.1",
            pool: "render",
            pid: 4_211,
            state: "backing off",
            detail: "attempt 2",
            starts: 3,
            restarts: 2,
            uptimeMilliseconds: 5,
            lastExit: "killed by SIGKILL (9)",
            violations: 1,
            residentBytes: 1 << 40,
            missingFromBox: ["a filter"],
            sent: sent
        )
        let report = BridgeReport(
            pid: 1,
            library: "x",
            protocolVersion: 1,
            uptimeMilliseconds: .max,
            isStopping: true,
            residentBytes: 7,
            workers: [worker, WorkerReport(name: "b", state: "not started")],
            clients: [ClientReport(client: "client-1", title: "t", pid: 9, user: 501, outboxEvents: 2, dropped: 3)]
        )
        #expect(try passed(BridgeStatusReported(report)).report == report)
        #expect(try passed(WorkerStopRequested(worker: "a")).worker == "a")
        #expect(try passed(WorkerRestartRequested(worker: "a")).worker == "a")
        #expect(try passed(WorkerStartRequested(worker: "a")).worker == "a")
        let signal = WorkerSignalRequested(worker: "a", signal: .min)
        #expect(try passed(signal) == signal)
        #expect(try passed(CommandAnswered(remark: "done")).remark == "done")
        #expect(try passed(CommandAnswered(refusal: "no")).refusal == "no")
        #expect(try passed(CommandAnswered()).refusal == nil)
    }

    @Test("of dead letters arrive as they were sent, with every field")
    func deadLetters() throws {
        let letter = DeadLetterReport(
            letter: .max,
            event: "Job",
            id: "client-1-5f-2",
            worker: "store",
            cause: "crashes",
            reasons: ["it died", "it died again"],
            attempts: 3,
            strikes: 2,
            nanosecondsSinceEpoch: .max,
            payloadBytes: 2,
            payload: [0x81, 0x01]
        )
        let answer = DeadLettersReported(letters: [letter], isComplete: true)
        let question = DeadLettersRequested(event: "Job", worker: "store", after: 7)
        let outcome = DeadLetterOutcome(letter: 7, kind: .refused, worker: "store", refusal: "no")
        #expect(try passed(answer) == answer)
        #expect(try passed(question) == question)
        #expect(try passed(DeadLetterRequested(letter: 7)).letter == 7)
        #expect(try passed(DeadLetterReported(letter: letter)).letter == letter)
        #expect(try passed(DeadLetterReported(letter: nil)).letter == nil)
        #expect(try passed(DeadLetterRedeliveryRequested(letter: 7)).letter == 7)
        #expect(try passed(DeadLetterDiscardRequested(letter: 7)).letter == 7)
        #expect(try passed(DeadLetterSettled(outcome)).outcome == outcome)
    }

    @Test("of what a reload came to arrive as they were sent, with every field")
    func reload() throws {
        let outcome = ReloadOutcome(
            .taken,
            started: ["a"],
            stopped: ["b"],
            replaced: ["c", "d"],
            unchanged: ["e"],
            sentences: ["no"]
        )
        #expect(try passed(ConfigurationReloaded(outcome)).outcome == outcome)
        #expect(try passed(ConfigurationReloadRequested()) == ConfigurationReloadRequested())
    }

    @Test("of what workers have printed arrive as they were sent, with every field")
    func output() throws {
        let line = OutputLine(
            number: .max,
            worker: "render.1",
            isError: true,
            nanosecondsSinceEpoch: .max,
            text: "no",
            isCut: true
        )
        let answer = WorkerOutputReported(lines: [line], isComplete: false, hasMissed: true, refusal: "no")
        #expect(try passed(answer) == answer)
        let question = WorkerOutputRequested(worker: "render", after: .max)
        #expect(try passed(question) == question)
    }

    @Test("of the names of events arrive as they were sent, with every field")
    func names() throws {
        let name = EventNameReport(name: "Job", wantedBy: ["store", "host"], publishedBy: ["render"])
        let answer = EventNamesReported(names: [name], isComplete: false)
        #expect(try passed(answer) == answer)
        #expect(try passed(EventNamesRequested(after: "Job")).after == "Job")
    }

    @Test("of events that are replayed arrive as they were sent, with every field")
    func replay() throws {
        let event = ReplayedEvent(
            event: "Job",
            id: "client-1-5f-2",
            nanosecondsSinceEpoch: .max,
            cause: "host-5f-1",
            root: "host-5e-1",
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            payload: [0x81, 0x01]
        )
        let command = EventsReplayRequested(worker: "store", events: [event])
        #expect(try passed(command) == command)
        let first = EventsReplayRequested(worker: "store", events: [event], hasMore: true)
        #expect(try passed(first) == first)
        let results: [ReplayOutcome.Result] = [.init(.handled), .init(.refused, reason: "no"), .init(.unwanted)]
        let outcome = ReplayOutcome(.refused, results: results, refusal: "no")
        #expect(try passed(EventsReplayed(outcome)).outcome == outcome)
    }

    @Test("name pools before their members, once")
    func workerNames() {
        let workers = [("a", nil), ("p.1", "p"), ("p.2", "p"), ("z", nil)].map { name, pool in
            WorkerReport(name: name, pool: pool, state: "ready")
        }
        let report = BridgeReport(pid: 1, library: "", protocolVersion: 1, uptimeMilliseconds: 0, workers: workers)
        #expect(report.workerNames == ["a", "p", "p.1", "p.2", "z"])
    }

    @Test("count as settled what was taken and does not wait, whatever a host claims")
    func settled() {
        var totals = EventTotals()
        #expect(totals.settled == 0)
        (totals.offered, totals.rejected, totals.waiting) = (10, 2, 3)
        #expect(totals.settled == 5)
        (totals.rejected, totals.waiting) = (.max, 1)
        #expect(totals.settled == 0)
        (totals.rejected, totals.waiting) = (11, 0)
        #expect(totals.settled == 0)
    }

    @Test("bear the names that others know them by")
    func eventNames() {
        #expect(
            ControlEventNames.commands
                == [
                    "BridgeStatusRequested", "WorkerStopRequested", "WorkerRestartRequested", "BridgeStopRequested",
                    "WorkerStartRequested", "WorkerSignalRequested",
                    "DeadLettersRequested", "DeadLetterRequested", "DeadLetterRedeliveryRequested",
                    "DeadLetterDiscardRequested", "ConfigurationReloadRequested",
                    "WorkerOutputRequested", "EventNamesRequested", "EventsReplayRequested",
                ]
        )
        #expect(
            ControlEventNames.answers
                == [
                    "BridgeStatusReported", "CommandAnswered", "DeadLettersReported", "DeadLetterReported",
                    "DeadLetterSettled", "ConfigurationReloaded", "WorkerOutputReported", "EventNamesReported",
                    "EventsReplayed",
                ]
        )
    }
}
