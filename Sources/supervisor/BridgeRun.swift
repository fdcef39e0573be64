import BridgeControl
import BridgePlatform
import DomainEvents
import EventBridge
import Supervision

/// A bridge that runs on behalf of the command line, from the bridge's start to the program's exit status.
struct BridgeRun {
    let bridge: BridgeHost
    let publisher: EventPublisher
    let options: RunOptions
    let input: SystemFile?
    let events: LineOutput
    let diagnostics: Diagnostics
    let reload: ConfigurationReload

    private let outcome = RunOutcome()
    private let endings = AsyncStream.makeStream(of: RunEnding.self)
    private let lines = InputLines()
    private let isEnding = Flag()
    private let reloads = ReloadRequests()
    /// A stream without elements, whose end lets reloads begin.
    ///
    /// It ends at the first report about a worker's state, or when ``comeUp()`` returns, whichever is first.
    private let begun = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(
        bridge: BridgeHost,
        publisher: EventPublisher,
        options: RunOptions,
        input: SystemFile?,
        events: LineOutput,
        diagnostics: Diagnostics,
        reload: ConfigurationReload
    ) {
        self.bridge = bridge
        self.publisher = publisher
        self.options = options
        self.input = input
        self.events = events
        self.diagnostics = diagnostics
        self.reload = reload
    }

    func run() async throws -> ProgramStatus {
        let service = try ServiceManager(
            environment: CurrentProcess.environment,
            look: { [bridge] in ServiceState.text(bridge.status) },
            onFailure: { [diagnostics] in diagnostics.say("the service manager is not told: \($0)", .warning) }
        )
        let subscriptions = reporter(service).subscribe(to: publisher)
        let poller = try Poller(name: "signals")
        let requests = StopRequests()
        let signals = try installSignals(on: poller, requests)
        let commands = [
            publisher.subscribe(to: BridgeStopRequested.self) { _ in stopCommanded(requests) },
            publisher.subscribe(to: ConfigurationReloadRequested.self) { _ in reloadCommanded() },
        ]
        let reader = makeReader()
        Task {
            await comeUp()
            begun.continuation.finish()
            if !isEnding.isSet { service?.becameReady() }
            await readInput(reader)
        }
        let reloading = Task { await answerReloads(service) }
        let ending = await endings.stream.first { _ in true }
        // These steps come before the sentence is printed: once it is printed, no requested reload may begin.
        isEnding.set()
        reloading.cancel()
        // No reload will answer the requests that wait: refuse them before the shutdown, which may take minutes.
        for requester in reloads.close() { refuse(requester, ReloadRequests.Refusal.runIsEnding.sentence) }
        if let sentence = ending?.sentence { diagnostics.say(sentence) }
        service?.beganStopping()
        await reader?.stop()
        await bridge.shutdown()
        reportLeftovers()
        if case let count = events.flush(), count > 0 {
            diagnostics.say("\(count) events were not printed, as standard output took no more")
            outcome.eventsWereNotPrinted()
        }
        if case let count = diagnostics.output.flush(), count > 0 {
            let lines = count == 1 ? "1 line was" : "\(count) lines were"
            diagnostics.say("\(lines) left out, as standard error took no more")
            diagnostics.output.flush()
        }
        service?.finish()
        withExtendedLifetime((subscriptions, signals, commands)) {}
        return outcome.status
    }

    // MARK: - Beginning

    /// Returns when each worker has come up or stays down, or when the run ends.
    private func comeUp() async {
        do {
            try await bridge.start()
        } catch let error as BridgeError where error.code == .control || error.code == .system {
            outcome.bridgeDidNotStart()
            // Set before the ending is announced, because a bridge that did not start must not be reported as ready.
            isEnding.set()
            endings.continuation.yield(.notStarted(error.description))
            return
        } catch {
            // The end of the run also makes the start fail. That failure is expected.
            guard !isEnding.isSet else { return }
            // The reporter has reported the failed worker. The other workers get time to come up.
            await waitUntilWorkersSettled()
        }
    }

    private func readInput(_ reader: InputReader?) async {
        guard !isEnding.isSet else { return }
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
        for await update in bridge.statusUpdates where update.workers.allSatisfy(\.state.isSettled) { return }
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

    /// With `--strict`, ends the run for a wrong line of the input; returns whether the reader should go on.
    @Sendable
    private func inputMistakeFound() -> Bool {
        guard options.isStrict else { return true }
        outcome.inputWasBad()
        endings.continuation.yield(.badInput)
        return false
    }

    // MARK: - While the bridge runs

    private func reporter(_ service: ServiceManager?) -> WorkerReporter {
        WorkerReporter(
            diagnostics: diagnostics,
            outcome: outcome,
            lines: lines,
            inputName: options.input?.name ?? "",
            isOnlooker: options.isOnlooker,
            states: { bridge.status },
            statesChanged: {
                service?.stateChanged()
                begun.continuation.finish()
                endIfNoWorkerIsLeft()
            },
            inputRefused: { _ = inputMistakeFound() }
        )
    }

    private func endIfNoWorkerIsLeft() {
        // During a reload the run goes on, because the old workers may end before the new ones begin. It also goes on
        // while a requested reload has not begun, because that reload may bring workers; after each reload this method
        // is called again. The run also goes on if a command has stopped a worker, because another command may start
        // that worker again. The dashboard never counts.
        guard !reloads.isUnderWay, bridge.stoppedWorkers.allSatisfy(options.isOnlooker) else { return }
        guard outcome.noWorkerIsLeft(of: bridge.status.filter { !options.isOnlooker($0.name) }) else { return }
        endings.continuation.yield(.noWorkerLeft)
    }

    /// Reads the configuration again when that is requested, and answers the requests that came as events.
    private func answerReloads(_ service: ServiceManager?) async {
        // Before a worker's state is reported or ``comeUp()`` has returned, the bridge might not run yet.
        for await _ in begun.stream {}
        await reloads.forEach(
            { requesters in
                service?.beganReloading()
                let outcome = await reload.run()
                service?.endedReloading(note: outcome.kind == .taken ? nil : "the last configuration was not taken")
                for requester in requesters { publisher.publish(ConfigurationReloaded(outcome), causedBy: requester) }
            },
            afterwards: endIfNoWorkerIsLeft
        )
    }

    private func installSignals(on poller: Poller, _ requests: StopRequests) throws -> SignalSource {
        try SignalSource.install(StopRequests.signals, on: poller) { signal in
            guard signal != OperatingSystem.hangUp else { return reloads.request() }
            switch requests.next(at: MonotonicClock.now()) {
            case nil: return
            case 1: endings.continuation.yield(.requested)
            case 2:
                diagnostics.say("escalating: the workers are not waited for any more")
                escalate()
            case 3:
                events.abandon()
                diagnostics.output.abandon()
                escalate()
            default:
                // Whatever holds up the end, the workers do not outlive this process.
                CurrentProcess.exitImmediately(ProgramStatus.unhandledEvents.rawValue)
            }
        }
    }

    /// Ends the run as the first SIGTERM does; to escalate the end, a client has to send a signal.
    private func stopCommanded(_ requests: StopRequests) {
        // A command that comes again may have been meant for a previous host, and may have ended it.
        guard EventContext.current?.attempt ?? 1 == 1, requests.isFirst(at: MonotonicClock.now()) else { return }
        endings.continuation.yield(.requested)
    }

    /// Requests a reload as SIGHUP does, and answers the sender of the command with the outcome.
    private func reloadCommanded() {
        guard let context = EventContext.current else { return reloads.request() }
        // Like every command, a command to reload that may have been carried out before is not carried out again.
        guard context.attempt == 1 else {
            return refuse(
                context,
                "the link broke off while the command was on its way, so it may have been carried out already"
            )
        }
        if let refusal = reloads.request(by: context) { refuse(context, refusal.sentence) }
    }

    private func refuse(_ requester: EventContext, _ reason: String) {
        publisher.publish(ConfigurationReloaded(ReloadOutcome(.refused, saying: [reason])), causedBy: requester)
    }

    private func escalate() {
        // A thread that waits for a reader of the events keeps a worker from ending in good order.
        events.stopWaiting()
        diagnostics.output.stopWaiting()
        bridge.escalateShutdown()
    }

    // MARK: - End

    private func reportLeftovers() {
        for (worker, events) in bridge.leftovers where !options.isOnlooker(worker) {
            outcome.eventsWereNotHandled()
            let count = events == 1 ? "1 event" : "\(events) events"
            diagnostics.say("\(count) for worker \"\(worker)\" left unhandled", .error)
        }
    }
}

extension RunOptions {
    /// Whether this worker is the dashboard, which the command line adds.
    @Sendable
    fileprivate func isOnlooker(_ worker: String) -> Bool { dashboard != nil && worker == Dashboard.name }
}

extension ChildState {
    /// Whether the worker is up, or stays down until an event or a command starts it.
    fileprivate var isSettled: Bool {
        switch self {
        case .ready, .dormant, .notStarted, .stopped, .gaveUp: true
        case .starting, .draining, .stopping, .backingOff: false
        }
    }
}
