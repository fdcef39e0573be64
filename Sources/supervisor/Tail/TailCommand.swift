import BridgeClient
import BridgePlatform
import DomainEvents

/// The options of `supervisor tail`.
struct TailOptions: Sendable, Hashable {
    /// The control socket's path on the command line; nil if it was not given.
    var control: String?
    /// Names with commas between them.
    var events: String?
    /// The origin whose events are shown.
    var origin: String?
    var format = RunOptions.Format.text
}

/// `supervisor tail`: prints the events that pass in a running supervisor, as far as the reader keeps up.
///
/// The thread that reads the link waits for the reader. While it waits, this client's outbox at the supervisor fills
/// up, and the supervisor drops the oldest events there. Another thread sends the signs of life, so the client stays
/// attached even if the terminal stands still.
struct TailCommand {
    let options: TailOptions

    /// How many bytes of lines may wait in this process for the reader.
    private static let capacity = 256 << 10

    /// How long the reader has at the end to read what was printed, in nanoseconds.
    private static let lastWords: UInt64 = 1_000_000_000

    func run() async throws -> ProgramStatus {
        let filter = try EventFilter(events: options.events, from: options.origin)
        let diagnostics = try Diagnostics.onStandardError()
        return try await follow(filter, diagnostics)
    }

    private func follow(_ filter: EventFilter, _ diagnostics: Diagnostics) async throws -> ProgramStatus {
        let endings = AsyncStream.makeStream(of: ProgramStatus.self)
        let events = try LineOutput(
            .standardOutput,
            name: "events",
            capacity: Self.capacity,
            turns: .standardOutput
        ) { failure in
            if !failure.hasNoReader { diagnostics.say("events are not printed: standard output: \(failure)", .error) }
            if !failure.hasNoRoom { endings.continuation.yield(failure.hasNoReader ? .success : .output) }
        }
        let poller = try Poller(name: "signals")
        let isAttached = Flag()
        let signals = try installSignals(on: poller, events, diagnostics, isAttached) {
            endings.continuation.yield(.success)
        }
        let publisher = EventPublisher(origin: "tail")
        let printer = EventPrinter(formatter: formatter, filter: filter, events: events)
        let subscriptions = HostReporter(diagnostics: diagnostics, printer: printer) {
            endings.continuation.yield(.workerUnavailable)
        }.subscribe(to: publisher)
        let client = try await HostConnection.attach(
            to: ControlPath.find(options.control),
            as: .tail,
            publisher: publisher,
            wantsEverything: filter.wantsEverything,
            watchedNames: filter.names,
            tap: printer.print,
            gapTap: printer.print
        )
        isAttached.set()
        // This call comes only now, because its body is called again and again until the loop below gets the ending.
        let reader = SystemFile.standardOutput.whenReaderGoes(on: poller) { endings.continuation.yield(.success) }
        var status = ProgramStatus.success
        for await ending in endings.stream {
            status = ending
            break
        }
        reader?.cancel()
        // The end has begun: from now on, events do not wait for an output that is not read.
        events.stopWaiting()
        let deadline = poller.schedule(after: Self.lastWords) { abandon(events, diagnostics) }
        await client.close(drainingWithin: .zero)
        events.flush()
        diagnostics.output.flush()
        deadline.cancelWithoutWaiting()
        withExtendedLifetime((signals, subscriptions)) {}
        // That lines were left out is no failure: at the end, a slow reader misses some.
        return status == .success && events.failure != nil ? .output : status
    }

    private func installSignals(
        on poller: Poller,
        _ events: LineOutput,
        _ diagnostics: Diagnostics,
        _ isAttached: Flag,
        end: @escaping @Sendable () -> Void
    ) throws -> SignalSource {
        let requests = StopRequests()
        return try SignalSource.install(StopRequests.signals, on: poller) { _ in
            switch requests.next(at: MonotonicClock.now()) {
            case nil: return
            // Attaching may take long, and there is nothing to finish.
            case 1 where !isAttached.isSet: CurrentProcess.exitImmediately(ProgramStatus.success.rawValue)
            case 1: end()
            case 2: abandon(events, diagnostics)
            default: CurrentProcess.exitImmediately(ProgramStatus.success.rawValue)
            }
        }
    }

    private func abandon(_ events: LineOutput, _ diagnostics: Diagnostics) {
        events.abandon()
        diagnostics.output.abandon()
    }

    private var formatter: any EventFormatter {
        switch options.format {
        case .json: CloudEventFormatter()
        case .text: TextFormatter.onStandardOutput(origins: [], names: [])
        }
    }
}
