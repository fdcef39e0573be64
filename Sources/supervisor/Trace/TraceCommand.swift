import BridgeClient
import BridgePlatform
import DomainEvents
import JSONText

/// `supervisor trace`: records the ways of events through all processes of a running supervisor, for a timeline.
struct TraceCommand {
    let options: TraceOptions

    /// Why the recording ends.
    private enum Ending: Sendable {
        case timeIsOver
        case asked
        case isFull
        case hostLost(String)
    }

    /// How long the command waits at the end for reports that are still on their way, in nanoseconds.
    private static let lastMoment: UInt64 = 500_000_000

    func run() async throws -> ProgramStatus {
        // The output is opened first, because a recording that cannot be written is of no use.
        let output = try TraceOutput(options.output)
        let poller = try Poller(name: "trace")
        defer { poller.stop() }
        let endings = AsyncStream.makeStream(of: Ending.self)
        let end: @Sendable (Ending) -> Void = { endings.continuation.yield($0) }
        let requests = StopRequests()
        let isAttached = Flag()
        let signals = try SignalSource.install(StopRequests.signals, on: poller) { _ in
            switch requests.next(at: MonotonicClock.now()) {
            case nil: return
            case 1 where isAttached.isSet: end(.asked)
            // Either nothing is recorded yet, or this is the second request. After a second request the command no
            // longer waits for an output, which may be stuck.
            default:
                output.discard()
                CurrentProcess.exitImmediately(ProgramStatus.output.rawValue)
            }
        }
        defer { signals.cancel() }
        let publisher = EventPublisher()
        let lost = publisher.subscribe(to: HostLost.self) { end(.hostLost($0.reason)) }
        defer { lost.cancel() }
        let collector = TraceCollector()
        let batches = publisher.eventsAndGaps(of: EventsTraced.self)
        let collecting = Task {
            for await batch in batches {
                switch batch {
                case .event(let event): if !collector.add(event) { end(.isFull) }
                case .gap(let gap): collector.missed(gap.count)
                }
            }
        }
        defer { collecting.cancel() }
        let client = try await HostConnection.attach(
            to: ControlPath.find(options.control),
            as: .trace,
            publisher: publisher
        )
        isAttached.set()
        CurrentProcess.report(
            "supervisor: records for \(DurationText.text(options.duration)); Ctrl-C ends it before that"
        )
        poller.schedule(after: options.duration.nanoseconds) { end(.timeIsOver) }
        var ending = Ending.asked
        for await found in endings.stream {
            ending = found
            break
        }
        switch ending {
        // Spans that came before the loss of the link may still be on their way to the collector.
        case .timeIsOver, .asked, .hostLost: await pause(on: poller)
        case .isFull: break
        }
        await client.close()
        return try await write(collector.recorded, to: output, ending)
    }

    private func pause(on poller: Poller) async {
        await withCheckedContinuation { continuation in
            poller.schedule(after: Self.lastMoment) { continuation.resume() }
        }
    }

    // MARK: - The result

    private func write(_ trace: RecordedTrace, to output: TraceOutput, _ ending: Ending) async throws -> ProgramStatus {
        if let failure = try await output.write(ChromeTrace(trace)) {
            throw RunFailure(
                status: .output,
                description: "supervisor: the trace cannot be written to \(output.name): \(failure)\(output.remainder)"
            )
        }
        var sentences: [String] = []
        if case .hostLost(let reason) = ending {
            sentences.append("the supervisor has gone (\(reason)); what came before is written")
        }
        if case .isFull = ending {
            let bytes = ByteCountText.text(TraceCollector.bytes)
            sentences.append(
                """
                the recording has ended early: it holds at most \(TraceCollector.capacity) spans, and \
                \(bytes) with their names
                """
            )
        }
        if trace.dropped > 0 {
            sentences.append("\(trace.dropped) spans were left out, as there were too many at once")
        }
        if trace.missedBatches > 0 { sentences.append("\(trace.missedBatches) batches of spans have not come") }
        let processes = count(trace.processes.count, "process", "processes")
        sentences.append("\(output.name) has \(count(trace.spans.count, "span")) of \(processes)")
        for sentence in sentences { CurrentProcess.report(TerminalText.harmless("supervisor: \(sentence)")) }
        if case .hostLost = ending { return .workerUnavailable }
        return .success
    }

    private func count(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(number) \(number == 1 ? one : many ?? one + "s")"
    }
}
