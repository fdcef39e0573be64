import BridgePlatform
import Locks

/// A bridge's whole life in one call.
extension BridgeHost {
    /// Starts the bridge, runs it until the calling task is cancelled, and shuts it down in order.
    ///
    /// The run also ends when an automatic shutdown (`AutomaticShutdown`) has ended all workers. In a service of
    /// swift-service-lifecycle, turn the graceful shutdown of its group into a cancellation:
    ///
    /// ```swift
    /// struct BridgeService: Service {
    ///     let bridge: BridgeHost
    ///     func run() async throws { try await cancelWhenGracefulShutdown { try await bridge.run() } }
    /// }
    /// ```
    ///
    /// - Throws: What ``start()`` throws, after the workers that this call has started were shut down. A cancellation
    ///   is no error.
    public func run() async throws { _ = try await run(drainingWithin: .seconds(5), until: AsyncStream { _ in }) }

    /// Starts the bridge, runs it until the process gets SIGINT or SIGTERM, and shuts it down in order.
    ///
    /// Use this in the `main` of a program that runs a bridge. A second signal escalates the shutdown, and a third
    /// kills the workers, as ``escalateShutdown()`` does. Signals that come within 100 ms count as one, as some
    /// programs signal a process and its group at once. The run also ends when the calling task is cancelled, and when
    /// an automatic shutdown has ended all workers. When the call returns, both signals have their former effect again.
    ///
    /// - Parameter limit: how long the shutdown may wait until all events that are on their way are handled.
    /// - Returns: What was left unhandled.
    /// - Throws: What ``start()`` throws, after the workers that this call has started were shut down. ``BridgeError``
    ///   if the signals cannot be caught, for example because another call catches them: then nothing was started.
    @discardableResult
    public func runUntilSignalled(drainingWithin limit: Duration = .seconds(5)) async throws -> ShutdownReport {
        let (stream, requests) = AsyncStream.makeStream(of: Int.self)
        let count = StopRequests()
        let poller = try signalPoller()
        let signals: SignalSource
        do {
            signals = try SignalSource.install([OperatingSystem.terminate, OperatingSystem.interrupt], on: poller) {
                _ in
                if let number = count.next(at: MonotonicClock.now()) { requests.yield(number) }
            }
        } catch {
            poller.stop()
            throw BridgeError(.system, "the signals that end this program cannot be caught: \(error)")
        }
        defer {
            signals.cancel()
            poller.stop()
        }
        return try await run(drainingWithin: limit, until: stream)
    }

    private func signalPoller() throws -> Poller {
        do {
            return try Poller(name: "signals")
        } catch {
            throw BridgeError(.system, "the signals that end this program cannot be read: \(error)")
        }
    }

    /// - Parameter requests: the numbers of the requests to end, from 1. The first request ends the run, and each later
    ///   one escalates the shutdown.
    private func run(drainingWithin limit: Duration, until requests: AsyncStream<Int>) async throws -> ShutdownReport {
        // These tasks are not the caller's: if the caller's task is cancelled, the start and the wait end, and the
        // shutdown goes on.
        let running = Task(executorPreference: Simulation.taskExecutor) { [self] in
            try await start(endingIfCancelled: true)
            await untilStopped()
        }
        let following = Task(executorPreference: Simulation.taskExecutor) { [self] in
            for await number in requests {
                if number == 1 { running.cancel() } else { escalateShutdown() }
            }
        }
        let result = await withTaskCancellationHandler {
            await running.result
        } onCancel: {
            Simulation.undivided { running.cancel() }
        }
        if case .failure(let error as BridgeError) = result, error.code != .workerNotReady {
            // This call has started nothing: another call has started or shut down the bridge, or the control socket
            // could not be made, or what killed hosts have left could not be read.
            following.cancel()
            throw error
        }
        let ending = Task(executorPreference: Simulation.taskExecutor) { [self] in
            await shutdown(drainingWithin: limit)
        }
        let report = await ending.value
        following.cancel()
        if case .failure(let error) = result, !(error is CancellationError) { throw error }
        return report
    }

    /// Returns when all workers have been stopped for good, or when the task is cancelled.
    private func untilStopped() async {
        let (stream, stopped) = AsyncStream.makeStream(of: Never.self)
        Task(executorPreference: Simulation.taskExecutor) { [self] in
            await waitUntilStopped()
            stopped.finish()
        }
        for await _ in stream {}
    }
}
