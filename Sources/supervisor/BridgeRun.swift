import BridgePlatform
import DomainEvents
import EventBridge
import Supervision

/// A bridge that runs on behalf of the command line: from its start to its exit status.
struct BridgeRun {
    let bridge: BridgeHost
    let publisher: EventPublisher
    let options: RunOptions
    let input: SystemFile?
    let events: LineOutput
    let diagnostics: Diagnostics

    private let outcome = RunOutcome()
    private let endings = AsyncStream.makeStream(of: RunEnding.self)
    private let stateChanges = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let lines = InputLines()
    private let isEnding = Flag()

    init(
        bridge: BridgeHost,
        publisher: EventPublisher,
        options: RunOptions,
        input: SystemFile?,
        events: LineOutput,
        diagnostics: Diagnostics
    ) {
        self.bridge = bridge
        self.publisher = publisher
        self.options = options
        self.input = input
        self.events = events
        self.diagnostics = diagnostics
    }

    func run() async throws -> ProgramStatus {
        let subscriptions = reporter().subscribe(to: publisher)
        let poller = try Poller(name: "signals")
        let signals = try installSignals(on: poller)
        let reader = makeReader()
        Task { await begin(reader) }
        for await ending in endings.stream {
            if let sentence = ending.sentence { diagnostics.say(sentence) }
            break
        }
        isEnding.set()
        await reader?.stop()
        await bridge.shutdown()
        reportLeftovers()
        if case let count = events.flush(), count > 0 {
            diagnostics.say("\(count) events were not printed, as standard output took no more")
        }
        if case let count = diagnostics.output.flush(), count > 0 {
            diagnostics.say("\(count) lines that workers printed were left out, as standard error took no more")
            diagnostics.output.flush()
        }
        withExtendedLifetime((subscriptions, signals)) {}
        return outcome.status
    }

    // MARK: - Beginning

    private func begin(_ reader: InputReader?) async {
        do {
            try await bridge.start()
        } catch {
            // A start that is broken off by the end of the run fails too, and means nothing.
            guard !isEnding.isSet else { return }
            // The reporter has told of the worker; the others are given the time to come up.
            await waitUntilWorkersSettled()
        }
        guard let reader else { return await inputEnded() }
        do {
            try reader.start { Task { await inputEnded() } }
        } catch {
            outcome.inputBecameUnreadable()
            diagnostics.say("the input is not read: \(error)")
            await inputEnded()
        }
    }

    private func waitUntilWorkersSettled() async {
        guard isSomeWorkerStarting else { return }
        for await _ in stateChanges.stream where !isSomeWorkerStarting { return }
    }

    private var isSomeWorkerStarting: Bool {
        bridge.status.contains { $0.state == .starting }
    }

    private func inputEnded() async {
        guard options.exitsWhenIdle else { return }
        await bridge.waitUntilIdle()
        endings.continuation.yield(.idle)
    }

    private func makeReader() -> InputReader? {
        guard let input, let name = options.input?.name else { return nil }
        return InputReader(
            input,
            name: name,
            bridge: bridge,
            publisher: publisher,
            lines: lines,
            diagnostics: diagnostics,
            outcome: outcome,
            goesOnAfterMistake: inputMistakeFound
        )
    }

    /// - Returns: Whether the input is read on.
    @Sendable
    private func inputMistakeFound() -> Bool {
        guard options.isStrict else { return true }
        outcome.inputWasBad()
        endings.continuation.yield(.badInput)
        return false
    }

    // MARK: - What happens meanwhile

    private func reporter() -> WorkerReporter {
        WorkerReporter(
            diagnostics: diagnostics,
            outcome: outcome,
            lines: lines,
            inputName: options.input?.name ?? "",
            statesChanged: {
                stateChanges.continuation.yield()
                if bridge.status.allSatisfy(\.state.isAtRest) { endings.continuation.yield(.noWorkerLeft) }
            },
            inputRefused: { _ = inputMistakeFound() }
        )
    }

    private func installSignals(on poller: Poller) throws -> SignalSource {
        let requests = StopRequests()
        let wanted = [OperatingSystem.terminate, OperatingSystem.interrupt, OperatingSystem.hangUp]
        return try SignalSource.install(wanted, on: poller) { signal in
            guard signal != OperatingSystem.hangUp else {
                diagnostics.say(
                    "the configuration cannot be read again while the workers run yet; they go on with the old one"
                )
                return
            }
            switch requests.next(at: MonotonicClock.now()) {
            case nil: return
            case 1: endings.continuation.yield(.requested)
            case 2:
                diagnostics.say("hurrying: the workers are not waited for any more")
                hurry()
            case 3:
                events.abandon()
                diagnostics.output.abandon()
                hurry()
            default:
                // Whatever holds up the end, the workers do not outlive this process.
                CurrentProcess.exitImmediately(ProgramStatus.unhandledEvents.rawValue)
            }
        }
    }

    private func hurry() {
        // Whoever waits for a reader of the events keeps a worker from ending in good order.
        events.stopWaiting()
        diagnostics.output.stopWaiting()
        bridge.hurryShutdown()
    }

    // MARK: - End

    private func reportLeftovers() {
        for (worker, events) in bridge.leftovers {
            outcome.eventsWereNotHandled()
            let count = events == 1 ? "1 event" : "\(events) events"
            diagnostics.say("\(count) for worker \"\(worker)\" left unhandled")
        }
    }
}
