import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents
import Locks

/// `supervisor status --watch`: asks each second, and shows the answer; waits for a supervisor that is gone.
final class StatusWatch: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let path: String
    private let screen: StatusScreen
    private let lock = Lock()
    /// Why there is no link to the supervisor; nil while there is a link.
    private var loss: HostLost?
    private let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let isAttached = Flag()
    private let isEnding = Flag()

    private static let interval = Duration.seconds(1)
    /// How long the supervisor may take to answer before it is reported as not answering.
    private static let timeout = Duration.seconds(3)

    init(path: String, screen: StatusScreen) {
        self.path = path
        self.screen = screen
    }

    func run() async throws(RunFailure) {
        let signals: SignalSource
        do {
            signals = try catchSignals()
        } catch {
            throw RunFailure(error)
        }
        let publisher = EventPublisher()
        let subscriptions = [
            publisher.subscribe(to: HostLost.self) { [self] in linkChanged($0) },
            publisher.subscribe(to: HostRegained.self) { [self] _ in linkChanged(nil) },
        ]
        let client = try await HostConnection.attach(to: path, as: .status, publisher: publisher)
        isAttached.set()
        let clock = Task { [wakes] in
            while !Task.isCancelled {
                try await Task.sleep(for: Self.interval)
                wakes.continuation.yield()
            }
        }
        let failure = await show(client)
        clock.cancel()
        screen.end()
        await client.close()
        screen.flush()
        withExtendedLifetime((subscriptions, signals)) {}
        if let failure { throw failure }
        if let failure = screen.failure {
            throw RunFailure(status: .output, description: "supervisor: standard output: \(failure)")
        }
    }

    // MARK: - Showing

    /// Shows reports until a signal asks for the end, the output cannot be written, or the link is lost for good.
    ///
    /// A full disk also ends the watch: a report that was not written is missing from the output, and the exit status
    /// must say so.
    private func show(_ client: BridgeClient) async -> RunFailure? {
        var before: BridgeReport?
        var last: BridgeReport?
        var hasTold = false
        var iterator = wakes.stream.makeAsyncIterator()
        repeat {
            switch await ask(client) {
            case .success(let report)?:
                screen.show(report, before: before)
                (before, last, hasTold) = (report, report, false)
            case nil: before = nil
            case .failure(let failure)?:
                if failure.isFinal { return RunFailure(status: .workerUnavailable, description: failure.sentence) }
                // Across a time without answers, no events per second are shown.
                before = nil
                screen.tell(failure.sentence, last: last, isNews: !hasTold)
                hasTold = true
            }
            guard !isEnding.isSet, screen.isUsable else { return nil }
            _ = await iterator.next()
        } while !isEnding.isSet
        return nil
    }

    private struct Failure: Error {
        let sentence: String
        var isFinal = false
    }

    /// Asks for a report; returns nil if the link has ended and ``HostLost``, which says more, is still to come.
    private func ask(_ client: BridgeClient) async -> Result<BridgeReport, Failure>? {
        var failure: (any Error)?
        if lock.withLock({ loss }) == nil {
            do {
                return .success(try await client.status(within: Self.timeout))
            } catch {
                failure = error
            }
        }
        // The link may have been lost during the request.
        guard let loss = lock.withLock({ loss }) else {
            if let failure = failure as? BridgeClientError, failure.code == .linkEnded { return nil }
            return failure.map { .failure(Failure(sentence: "\($0)")) }
        }
        if loss.isFinal { return .failure(Failure(sentence: "supervisor: \(loss.reason)", isFinal: true)) }
        return .failure(Failure(sentence: "\(loss.reason); waiting for it to come back"))
    }

    // MARK: - Links and signals

    private func linkChanged(_ loss: HostLost?) {
        lock.withLock { self.loss = loss }
        wakes.continuation.yield()
    }

    private func catchSignals() throws -> SignalSource {
        let poller = try Poller(name: "signals")
        let requests = StopRequests()
        return try SignalSource.install(StopRequests.signals, on: poller) { [self] _ in
            switch requests.next(at: MonotonicClock.now()) {
            case nil: return
            // Attaching may take long, and there is nothing to finish.
            case 1 where !isAttached.isSet: CurrentProcess.exitImmediately(ProgramStatus.success.rawValue)
            case 1:
                isEnding.set()
                wakes.continuation.yield()
            // After the second signal, this process waits for no output, not even for a stalled terminal.
            case 2: screen.abandon()
            // No message is printed: if both outputs lead to one pipe, the message could be stuck as well.
            default: CurrentProcess.exitImmediately(ProgramStatus.success.rawValue)
            }
        }
    }
}
