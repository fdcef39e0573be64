public import BridgeControl
import DomainEvents

/// What a client can ask the host itself to do, such as report its status, or start, stop, restart and signal workers.
///
/// A host answers attached clients and its own process, and no other process. Each command is done once or not at all:
/// if the link ends after a command has left, the client sends the command again over the next link, and the host
/// carries out this repetition only if it is a query. A caller that gets `linkEnded` can ask for the status to learn
/// whether the command was done. A host that is starting or stopping refuses commands about workers.
extension BridgeClient {
    /// The status of the host and its workers.
    ///
    /// ```swift
    /// for worker in try await client.status().workers { print(worker.name, worker.state, worker.restarts) }
    /// ```
    /// - Parameter limit: how long this waits for the answer.
    /// - Throws: ``BridgeClientError``; `CancellationError` if the task is cancelled.
    public func status(within limit: Duration = .seconds(10)) async throws -> BridgeReport {
        try await ask(BridgeStatusRequested(), awaiting: BridgeStatusReported.self, within: limit).report
    }

    /// Starts a worker anew, with its failures forgotten, and returns when it is ready; a running worker is stopped
    /// first.
    ///
    /// - Parameters:
    ///   - worker: the name of a worker, of one of a pool's members, or of a pool, which stands for all its members.
    ///   - limit: how long this waits until the worker is ready; the command is not taken back after that.
    /// - Throws: ``BridgeClientError``: `refused`, with the reason, if there is no such worker, or if it was given up
    ///   or stopped before it was ready. `CancellationError` if the task is cancelled; the command still stands.
    public func restart(_ worker: String, within limit: Duration = .seconds(600)) async throws {
        try await command(WorkerRestartRequested(worker: worker), within: limit)
    }

    /// Starts a worker that is down, with its failures forgotten, and returns when it is ready; a running worker is
    /// left alone.
    ///
    /// - Parameters:
    ///   - worker: the name of a worker, of one of a pool's members, or of a pool, which stands for all its members.
    ///   - limit: how long this waits until the worker is ready; the command is not taken back after that.
    /// - Returns: A sentence if the worker ran already; nil if it was started.
    /// - Throws: ``BridgeClientError``: `refused`, with the reason, if there is no such worker, or if it was given up
    ///   or stopped before it was ready. `CancellationError` if the task is cancelled; the command still stands.
    @discardableResult
    public func start(_ worker: String, within limit: Duration = .seconds(600)) async throws -> String? {
        try await command(WorkerStartRequested(worker: worker), within: limit)
    }

    /// Sends a signal to the process of a worker, and returns when the signal was sent.
    ///
    /// An end by the signal counts as a crash, and the worker's restart type says whether another start follows.
    /// - Parameters:
    ///   - worker: the name of a worker, of one of a pool's members, or of a pool, which stands for all its members.
    ///   - signal: the number, on the host's system, of a signal that has a name.
    ///   - limit: how long this waits for the answer.
    /// - Returns: A sentence that says to which process the signal went.
    /// - Throws: ``BridgeClientError``: `refused`, with the reason, if there is no such worker or signal, or if the
    ///   worker is down. `CancellationError` if the task is cancelled; the command still stands.
    @discardableResult
    public func signal(
        _ worker: String,
        _ signal: Int32,
        within limit: Duration = .seconds(10)
    ) async throws -> String? {
        try await command(WorkerSignalRequested(worker: worker, signal: signal), within: limit)
    }

    /// Stops a worker and returns when it is down; the worker stays down until its start or restart is requested.
    ///
    /// `BridgeHost.stop(_:)` says what becomes of the worker's events while it is down.
    /// - Parameters:
    ///   - worker: the name of a worker, of one of a pool's members, or of a pool, which stands for all its members.
    ///   - limit: how long this waits until the worker is down; the command is not taken back after that.
    /// - Throws: ``BridgeClientError``: `refused`, with the reason, if there is no such worker, or if another request
    ///   has started it again during the wait. `CancellationError` if the task is cancelled; the command still stands.
    public func stop(_ worker: String, within limit: Duration = .seconds(600)) async throws {
        try await command(WorkerStopRequested(worker: worker), within: limit)
    }

    /// Asks the host's program to stop everything and to end, and returns when the host has ended the link.
    ///
    /// `supervisor run` does so; another program does so if it subscribes to `BridgeStopRequested`. Afterwards the
    /// client is no longer attached, and attaches again when another host comes, unless the client is closed.
    /// - Parameter limit: how long this waits in all; the command is not taken back after that.
    /// - Throws: ``BridgeClientError``: `refused` if the program does not subscribe. `CancellationError` if the task is
    ///   cancelled; the command still stands.
    public func stopHost(within limit: Duration = .seconds(600)) async throws {
        enum Step {
            case taken
            case ended(EndedLink)
        }
        let core = core
        let ends = try core.linkEnds()
        try await withThrowingTaskGroup(of: Step?.self) { group in
            group.addTask {
                do {
                    try await core.publisher.deliver(BridgeStopRequested(), within: limit)
                    return .taken
                } catch let error as DeliveryError {
                    throw BridgeClientError(error, at: core.path)
                }
            }
            group.addTask {
                for await ended in ends { return .ended(ended) }
                return nil
            }
            group.addTask {
                try await Task.sleep(for: limit)
                throw BridgeClientError(.timedOut, "the host at \(core.path) has not ended within \(limit)")
            }
            defer { group.cancelAll() }
            var isTaken = false
            while let step = try await group.next() {
                switch step {
                case .taken?: isTaken = true
                // The host's goodbye may come before the receipt. Without either of them, the link's end does not show
                // whether the command was taken.
                case .ended(let ended)? where isTaken || ended.isOrderly: return
                case .ended(let ended)?: throw ended.error
                case nil: throw CancellationError()
                }
            }
        }
    }

    /// Asks the host's program to read its configuration again, and returns when the workers conform to it.
    ///
    /// `supervisor run` does so; another program does so if it subscribes to `ConfigurationReloadRequested` and
    /// answers.
    /// - Parameter limit: how long this waits for the answer; the command is not taken back after that.
    /// - Returns: What was done; a configuration that was not taken is no error.
    /// - Throws: ``BridgeClientError``: `refused` if the program does not subscribe. `CancellationError` if the task is
    ///   cancelled; the command still stands.
    public func reload(within limit: Duration = .seconds(600)) async throws -> ReloadOutcome {
        try await ask(ConfigurationReloadRequested(), awaiting: ConfigurationReloaded.self, within: limit).outcome
    }

    /// - Returns: The host's remark about the command; nil for none.
    @discardableResult
    private func command(_ command: some DomainEvent, within limit: Duration) async throws -> String? {
        let answer = try await ask(command, awaiting: CommandAnswered.self, within: limit)
        guard let refusal = answer.refusal else { return answer.remark }
        throw BridgeClientError(.refused, "the host at \(core.path) refuses: \(refusal)")
    }

    /// Sends a command and returns its answer; throws when the link ends, as the answer comes over that link or never.
    func ask<Command: DomainEvent, Answer: DomainEvent>(
        _ command: Command,
        awaiting answer: Answer.Type,
        within limit: Duration
    ) async throws -> Answer {
        let core = core
        let ends = try core.linkEnds()
        return try await withThrowingTaskGroup(of: Answer?.self) { group in
            group.addTask {
                do {
                    return try await core.publisher.request(command, awaiting: answer, within: limit)
                } catch let error as DeliveryError {
                    throw BridgeClientError(error, at: core.path)
                }
            }
            group.addTask {
                for await ended in ends { throw ended.error }
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() ?? nil else { throw CancellationError() }
            return first
        }
    }
}

extension BridgeClientError {
    fileprivate init(_ error: DeliveryError, at path: String) {
        switch error.code {
        case .timedOut: self.init(.timedOut, "the host at \(path) did not answer: \(error)")
        case .noSubscriber:
            self.init(.refused, "the program that has the host at \(path) does not support this: \(error)")
        default: self.init(.refused, "the host at \(path) refuses: \(error)")
        }
    }
}
