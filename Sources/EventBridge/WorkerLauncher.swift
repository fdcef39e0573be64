package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import Supervision

/// Starts workers: as processes, or in memory for tests.
package protocol WorkerLauncher: Sendable {
    /// Starts one incarnation of a worker; calls `completion` once, on any thread.
    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    )

    /// The worker whose mark a process bears; empty if that worker has ended, nil without a mark of this launcher.
    ///
    /// All processes that a worker starts bear its mark, unless they hide the mark.
    func worker(markedOn process: Int32) -> String?

    /// Ends what the launcher has besides the workers, when all workers have ended.
    ///
    /// Called once; nothing is launched afterwards.
    func end(on poller: Poller) async
}

extension WorkerLauncher {
    package func worker(markedOn process: Int32) -> String? { nil }

    package func end(on poller: Poller) async {}
}

/// What a launcher needs to start a worker.
package struct LaunchOrder: Sendable {
    package let specification: ChildSpecification
    /// Whether the new process is started beside the worker's present process, to take over when that process ends.
    package let isSuccessor: Bool
    /// What the worker may use up and touch; nil for all that this process may.
    package let box: WorkerBox?
    /// The absolute paths that the boxes of this host's workers make writable: the worker's box follows no link below
    /// them.
    package var writablePaths: [String] = []
    /// The secret with which the worker proves that it is the process that was started.
    package let cookie: String
    /// The limits of the link to the worker.
    package let limits: LinkLimits
    package let poller: Poller
    /// Called with each line of the worker's standard output or error.
    package let output: @Sendable (_ line: LinePipe.Line, _ isError: Bool) -> Void
    /// Called when the worker's process of this number has ended and the processes that it had left behind were killed.
    package let leftBehind: @Sendable (_ worker: Int32, _ found: [MarkedProcesses.Found]) -> Void
    /// Makes the memory for the worker's outbox beside the host's journal; nil if no file keeps the outbox: then the
    /// launcher makes memory that ends with the processes.
    package var keptOutbox: @Sendable () -> MemoryFile? = { nil }
}

/// A worker that has been started: the stream to it, and the process behind it.
package struct LaunchedWorker: Sendable {
    package let stream: any ByteStream
    package let process: any WorkerProcess
    /// The parts that the worker's box lacks on this system, a sentence for each.
    package var missingFromBox: [String] = []

    package init(stream: any ByteStream, process: any WorkerProcess) {
        self.stream = stream
        self.process = process
    }
}

/// A worker's process, as the host signals and watches it.
package protocol WorkerProcess: Sendable {
    var processIdentifier: Int32 { get }

    /// Whether a debugger holds the process, so that it may stand still for as long as a person likes.
    var isBeingDebugged: Bool { get }

    func signal(_ signal: ChildSignal)

    /// Sends a signal that a caller has asked for, and returns whether there was a process to take the signal.
    func signal(_ signal: SignalNumber) -> Bool

    /// Calls `handler` once when the process has ended.
    func onExit(_ handler: @escaping @Sendable (ExitReason) -> Void) throws

    /// Kills a process whose end is not watched, and calls `handler` once when nothing is left of the process.
    func forceEnd(_ handler: @escaping @Sendable () -> Void)

    /// What the process has used in its life; nil before its end, and if that is not known.
    var usage: ResourceUsage? { get }
}

extension WorkerProcess {
    package var usage: ResourceUsage? { nil }

    package func signal(_ signal: SignalNumber) -> Bool { false }

    package func forceEnd(_ handler: @escaping @Sendable () -> Void) {
        signal(.kill)
        do { try onExit { _ in handler() } } catch { handler() }
    }
}

extension WorkerProcess {
    package var isBeingDebugged: Bool { false }
}

/// Why a worker could not be started.
package struct LaunchFailure: Error, Sendable {
    package let reason: ExitReason

    package init(reason: ExitReason) {
        self.reason = reason
    }
}
