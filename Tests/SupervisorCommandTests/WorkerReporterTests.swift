import BridgePlatform
import DomainEvents
import Locks
import Supervision
import Testing

@testable import EventBridge
@testable import supervisor

/// What a reporter asks of its run, and tells it.
private final class Notes: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var known: [ChildStatus] = []
    private var counts = (changes: 0, refusals: 0)

    /// The present states of the workers.
    var states: [ChildStatus] {
        get { lock.withLock { known } }
        set { lock.withLock { known = newValue } }
    }

    /// How often the workers' states may have changed.
    var changes: Int { lock.withLock { counts.changes } }

    /// How many lines of the input were refused for what they say.
    var refusals: Int { lock.withLock { counts.refusals } }

    func statesChanged() { lock.withLock { counts.changes += 1 } }

    func inputRefused() { lock.withLock { counts.refusals += 1 } }
}

/// A run's reporter, and what it has said and decided.
private final class Run {
    let publisher = EventPublisher(source: EventSource(origin: "host", incarnation: 0x5f))
    let outcome = RunOutcome()
    let lines = InputLines()
    let notes = Notes()
    private let output: LineOutput
    private let reader: SystemFile
    private let subscriptions: [Subscription]

    /// - Parameter capacity: of the sentences that wait for the reader.
    init(capacity: Int = LineOutput.capacity) throws {
        let pipe = try FileDescriptor.pipe()
        output = try LineOutput(SystemFile(pipe.writing), name: "sentences", capacity: capacity)
        reader = SystemFile(pipe.reading)
        let reporter = WorkerReporter(
            diagnostics: Diagnostics(output: output),
            outcome: outcome,
            lines: lines,
            inputName: "in.jsonl",
            isOnlooker: { _ in false },
            states: { [notes] in notes.states },
            statesChanged: { [notes] in notes.statesChanged() },
            inputRefused: { [notes] in notes.inputRefused() }
        )
        subscriptions = reporter.subscribe(to: publisher)
    }

    /// Publishes a report as the process of this name does.
    func publish(_ report: some DomainEvent, as origin: String) {
        let id = EventID(origin: origin, incarnation: 1, number: 1)
        publisher.publish(report, as: EventContext(id: id, nanosecondsSinceEpoch: 0))
    }

    /// How many sentences were left out for lack of room; no sentence waits for the reader any more.
    func leftOut() -> Int {
        output.abandon()
        return output.flush()
    }

    /// Takes the sentences that were said since the last call; there has to be one at least.
    func said() throws -> String {
        output.flush()
        return String(decoding: try reader.read(upTo: 64 << 10), as: UTF8.self)
    }
}

@Suite("What a run says and decides about the bridge's reports", .timeLimit(.minutes(5)))
struct WorkerReporterTests {
    private func refusal(of id: String, by worker: String = "canvas", code: UInt64 = 1) -> EventRefused {
        EventRefused(event: "BoxDrawn", id: id, worker: worker, reason: "size: found -1", code: code)
    }

    private func drop(of event: String, for link: String) -> EventsDropped {
        EventsDropped(event: event, link: link, count: 1, first: "host-5f-8", last: "host-5f-8", reason: "no room")
    }

    @Test("a refusal of an event of the input is told with its line, and a wrong field is the input's fault")
    func line() throws {
        let run = try Run()
        run.lines.add(EventID(source: run.publisher.source, number: 7), line: 3)
        run.publisher.publish(refusal(of: "host-5f-7"))
        #expect(try run.said() == "in.jsonl:3: canvas refused BoxDrawn: size: found -1\n")
        #expect(run.notes.refusals == 1 && run.outcome.status == .success)
    }

    @Test(
        "a refusal of an event that only has the number of one of the input names no line, and counts as unhandled",
        arguments: [
            // Of an earlier run, which a journal brings again; of a worker; of another machine.
            "host-dead-7", "host-api-5f-7", "host/host-5f-7", "canvas-5f-7", "host-5f-07", "host-5f-8", "host-5f-", "",
        ]
    )
    func otherEvent(id: String) throws {
        let run = try Run()
        run.lines.add(EventID(source: run.publisher.source, number: 7), line: 3)
        run.publisher.publish(refusal(of: id))
        let sentence = try run.said()
        #expect(!sentence.contains("in.jsonl") && sentence.contains("canvas refused BoxDrawn (\(id))"))
        #expect(run.notes.refusals == 0 && run.outcome.status == .unhandledEvents)
    }

    @Test("what a client refuses or fails at does not count, even if the client has left; what a worker does, counts")
    func client() throws {
        let (failure, run) = (HandlerFailed(event: "E", id: "host-5f-9", error: "x", handler: "y"), try Run())
        run.publisher.publish(refusal(of: "host-5f-9", by: "client-12", code: 3))
        #expect(try run.said().hasPrefix("supervisor: client-12 refused BoxDrawn"))
        run.publish(failure, as: "client-12")
        #expect(try run.said().hasPrefix("supervisor: the handler at y in client-12 failed on E"))
        run.lines.add(EventID(source: run.publisher.source, number: 7), line: 3)
        for code: UInt64 in [1, 3] {
            run.publisher.publish(refusal(of: "host-5f-7", by: "client-12", code: code))
            #expect(try run.said().hasPrefix("in.jsonl:3: client-12 refused BoxDrawn"))
        }
        #expect(run.notes.refusals == 0 && run.outcome.status == .success)

        let others = [try Run(), try Run(), try Run()]
        others[0].publisher.publish(refusal(of: "host-5f-9", by: "client-a", code: 3))
        others[1].publish(failure, as: "client")
        others[2].publisher.publish(failure)
        #expect(others.allSatisfy { $0.outcome.status == .unhandledEvents })
    }

    @Test("a worker that was given up, without room for the report of that, does not keep the run from ending")
    func droppedReport() throws {
        let (run, reason) = (try Run(), "2 restarts within 5 s")
        run.notes.states = [
            ChildStatus(name: "a", state: .gaveUp(reason: reason), starts: 2),
            ChildStatus(name: "b", state: .stopped, starts: 1),
        ]
        run.publisher.publish(drop(of: "WorkerGaveUp", for: "host"))
        #expect(run.notes.changes == 1 && run.outcome.noWorkerIsLeft(of: run.notes.states))
        #expect(run.outcome.status == .workerUnavailable)
        #expect(try run.said().hasSuffix("supervisor: worker \"a\" was given up: \(reason)\n"))
        // What was said once is not said again.
        run.publisher.publish(drop(of: "WorkerGaveUp", for: "host"))
        #expect(try !run.said().contains("was given up"))
    }

    @Test("clients that come and go while nothing reads the sentences take a bounded room, and what is left out counts")
    func comingAndGoing() throws {
        // The pipe loses its reader at the end, while the writing thread waits for it.
        SignalSource.ignoreBrokenPipes()
        let run = try Run(capacity: 4_096)
        let clients = 10_000
        for number in 1...clients {
            let name = "client-\(number)"
            run.publisher.publish(ClientAttached(client: name, title: "supervisor status", pid: 1))
            run.publisher.publish(ClientDetached(client: name, title: "supervisor status", reason: "said goodbye"))
        }
        // The pipe holds 64 KiB, the queue 4 KiB, and the writing thread as much; a sentence has more than 40 bytes.
        #expect(run.leftOut() > 2 * clients - (64 + 3 * 4) * 1_024 / 40)
        #expect(run.outcome.status == .success)
    }

    @Test("a dropped report of a worker's end has the states looked at again; others and those of workers do not")
    func droppedReports() throws {
        let run = try Run()
        run.notes.states = [ChildStatus(name: "a", state: .gaveUp(reason: "it does not start"), starts: 2)]
        for name in ["WorkerReady", "WorkerExited", "BridgeEnding"] {
            run.publisher.publish(drop(of: name, for: "host"))
        }
        #expect(run.notes.changes == 3)
        run.publisher.publish(drop(of: "WorkerOutput", for: "host"))
        run.publisher.publish(drop(of: "WorkerGaveUp", for: "a"))
        run.publish(drop(of: "WorkerGaveUp", for: "host"), as: "a")
        #expect(run.notes.changes == 3 && !run.outcome.noWorkerIsLeft(of: run.notes.states))
    }
}
