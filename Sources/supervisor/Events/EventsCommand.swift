import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents

/// `supervisor events`: counts for a while which events pass, and lists the publishers and receivers of each name.
///
/// The command watches the events as `supervisor tail` does, so the supervisor itself counts nothing.
struct EventsCommand {
    let options: EventsOptions

    private enum Ending: Sendable {
        case timeIsOver
        case asked
        case hostLost(String)
    }

    func run(printing: (String) -> ProgramStatus) async throws -> ProgramStatus {
        let endings = AsyncStream.makeStream(of: Ending.self)
        let poller = try Poller(name: "events")
        defer { poller.stop() }
        let requests = StopRequests()
        let signals = try SignalSource.install(StopRequests.signals, on: poller) { _ in
            guard let count = requests.next(at: MonotonicClock.now()) else { return }
            if count > 1 { CurrentProcess.exitImmediately(ProgramStatus.success.rawValue) }
            endings.continuation.yield(.asked)
        }
        defer { signals.cancel() }
        let tally = EventTally()
        let publisher = EventPublisher(origin: "events")
        let lost = publisher.subscribe(to: HostLost.self) { endings.continuation.yield(.hostLost($0.reason)) }
        let client = try await HostConnection.attach(
            to: ControlPath.find(options.control),
            as: .events,
            publisher: publisher,
            wantsEverything: true,
            tap: tally.take,
            gapTap: tally.take
        )
        let began = MonotonicClock.now()
        let result: Result<String, RunFailure>
        do {
            poller.schedule(after: options.duration.nanoseconds) { endings.continuation.yield(.timeIsOver) }
            if let failure = await failure(endings.stream) { throw failure }
            let seconds = Double(MonotonicClock.now() - began) / 1e9
            // When the answers have come, all events that the supervisor sent earlier have come, too.
            let (report, known) = (try await client.status(), try await client.eventNames())
            result = .success(text(EventsText.rows(known, tally.counted, report, seconds: seconds), seconds))
        } catch let failure as RunFailure {
            result = .failure(failure)
        } catch {
            result = .failure(RunFailure(error))
        }
        await client.close(drainingWithin: .zero)
        withExtendedLifetime(lost) {}
        let text = try result.get()
        for sentence in sentences(tally) { CurrentProcess.report("supervisor: \(sentence)") }
        return text.isEmpty ? .success : printing(text)
    }

    private func failure(_ endings: AsyncStream<Ending>) async -> RunFailure? {
        for await ending in endings {
            guard case .hostLost(let reason) = ending else { return nil }
            let sentence = "supervisor: \(TerminalText.harmless(reason))"
            return RunFailure(status: .workerUnavailable, description: sentence)
        }
        return nil
    }

    private func text(_ rows: [EventsText.Row], _ seconds: Double) -> String {
        if options.isJSON { return EventsText.json(rows) }
        let output = SystemFile.standardOutput
        let isColoured = TextFormatter.isColourWanted(
            isTerminal: output.isTerminal,
            environment: CurrentProcess.environment
        )
        return EventsText.table(
            rows,
            seconds: seconds,
            isColoured: isColoured,
            width: output.terminalSize?.columns
        )
    }

    private func sentences(_ tally: EventTally) -> [String] {
        var sentences: [String] = []
        if case let missed = tally.missed, missed > 0 {
            sentences.append("\(missed) events came faster than they were read: counted, without their bytes")
        }
        if case let left = tally.left, left > 0 {
            sentences.append("\(left) events were left out, as at most \(EventTally.mostNames) names are counted")
        }
        return sentences
    }
}
