import BridgeControl
import BridgePlatform
import BridgeProtocol
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Carries out the commands of attached clients: to report on the host, and to start, stop, restart or signal a worker.
///
/// A command is an event like any other, handled as a rule on the thread that reads its sender's link. That thread
/// begins a command about a worker at once. A task waits for the outcome, so that the wait holds up no other command.
final class ControlService: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let core: HostCore
    private let attached: AttachedClients
    private let deadLetters: DeadLetterService
    private let output: OutputService
    private let names: EventNameService
    private let replays: ReplayService
    private let lock = Lock()
    private var subscriptions: [Subscription] = []
    /// How many commands wait for their outcome.
    private var awaited = 0
    /// When the service was opened, on the monotonic clock, in nanoseconds.
    private var openedAt: UInt64 = 0

    /// The greatest number of commands that wait for their outcome at once: more than there are clients.
    ///
    /// Each costs a task, and time at every change of a worker's state.
    private static let mostAwaited = 256

    init(_ core: HostCore, _ attached: AttachedClients) {
        self.core = core
        self.attached = attached
        deadLetters = DeadLetterService(core)
        output = OutputService(core)
        names = EventNameService(core)
        replays = ReplayService(core)
    }

    // MARK: - Life

    /// Subscribes to the commands; called before any client can attach.
    func open() {
        // This comes before the first subscription, because a report needs the time.
        lock.withLock { openedAt = MonotonicClock.now() }
        let publisher = core.publisher
        let made = [
            publisher.subscribe(to: BridgeStatusRequested.self) { [weak self] _ in self?.tellStatus() },
            publisher.subscribe(to: WorkerStartRequested.self) { [weak self] in self?.take(.start, $0.worker) },
            publisher.subscribe(to: WorkerSignalRequested.self) { [weak self] in self?.signal($0) },
            publisher.subscribe(to: WorkerStopRequested.self) { [weak self] in self?.take(.stop, $0.worker) },
            publisher.subscribe(to: WorkerRestartRequested.self) { [weak self] in self?.take(.restart, $0.worker) },
        ]
        let others = deadLetters.open() + [output.open(), names.open(), replays.open()]
        lock.withLock { subscriptions = made + others }
    }

    func close() {
        let ended = lock.withLock {
            defer { subscriptions = [] }
            return subscriptions
        }
        withExtendedLifetime(ended) {}
    }

    // MARK: - Commands

    func report() -> BridgeReport {
        let openedAt = lock.withLock { self.openedAt }
        let uptime = MonotonicClock.now() - openedAt
        return BridgeReport(of: core, clients: attached.statuses, uptime: uptime)
    }

    private func tellStatus() { core.publisher.publish(BridgeStatusReported(report())) }

    /// Finds the workers that a command is about, or refuses the command.
    ///
    /// - Returns: The workers' indices; nil if the command was refused.
    private func indices(of worker: String) -> [Int]? {
        guard EventContext.current?.attempt ?? 1 == 1 else {
            // A second attempt: the link had ended before the sender knew that the command had arrived.
            answer(
                """
                worker \(quoted(worker)) was left alone: the link broke off while the command was on its way, so the \
                command may have been carried out already
                """
            )
            return nil
        }
        let indices = core.indices(of: worker)
        guard !indices.isEmpty else {
            answer("there is no worker \(quoted(worker))")
            return nil
        }
        guard core.supervisor?.isRunning == true else {
            answer("worker \(quoted(worker)) was left alone: the host is starting or stopping")
            return nil
        }
        return indices
    }

    private func take(_ command: WatchedCommand, _ worker: String) {
        guard let indices = indices(of: worker) else { return }
        if awaitOutcome(of: command, { begin(command, indices) }) { return }
        answer("worker \(quoted(worker)) was left alone: \(Self.mostAwaited) commands wait for their outcome already")
    }

    /// Begins a command, and waits in a task for its outcome, unless too many commands wait for theirs.
    ///
    /// - Returns: Whether the command was begun; if so, its sender gets an answer.
    private func awaitOutcome(
        of command: WatchedCommand,
        _ begin: () -> (begun: [Begun], remarks: [String])
    ) -> Bool {
        let mayBegin = lock.withLock {
            guard awaited < Self.mostAwaited else { return false }
            awaited += 1
            return true
        }
        guard mayBegin else { return false }
        let context = EventContext.current
        let (begun, remarks) = begin()
        Task(executorPreference: Simulation.taskExecutor) { [self] in
            var refusal: String?
            for (index, starts) in begun where refusal == nil {
                refusal = await outcome(of: command, index, startsBefore: starts)
            }
            lock.withLock { awaited -= 1 }
            answer(refusal, remarks: refusal == nil ? remarks : [], to: context)
        }
        return true
    }

    /// A worker, and the number of its starts before the awaited start, or at the moment of its stop.
    private typealias Begun = (index: Int, startsBefore: Int)

    private func startCounts(of indices: [Int]) -> [Begun] {
        indices.map { (index: $0, startsBefore: core.status(at: $0)?.starts ?? 0) }
    }

    /// - Returns: The workers to wait for, and what to tell the sender besides.
    private func begin(_ command: WatchedCommand, _ indices: [Int]) -> (begun: [Begun], remarks: [String]) {
        switch command {
        case .start: return start(indices)
        case .stop:
            for index in indices.reversed() { core.stopWorker(index) }
            // The starts are counted after the loop, because from then on only another request starts these workers.
            return (startCounts(of: indices), [])
        case .restart:
            let begun = startCounts(of: indices)
            for index in indices { core.restart(index) }
            return (begun, [])
        }
    }

    /// Starts the workers that are down.
    ///
    /// - Returns: The workers to wait for, and a sentence about each worker that is ready.
    private func start(_ indices: [Int]) -> (begun: [Begun], remarks: [String]) {
        var (begun, remarks): ([Begun], [String]) = ([], [])
        for index in indices {
            guard let status = core.status(at: index) else { continue }
            switch status.state {
            case .ready:
                let process = status.pid.map { " (process \($0))" } ?? ""
                remarks.append("worker \(quoted(status.name)) runs already\(process)")
            // The start to wait for has begun already.
            case .starting: begun.append((index, status.starts - 1))
            case .notStarted, .draining, .stopping, .backingOff, .dormant, .stopped, .gaveUp:
                begun.append((index, status.starts))
                core.restart(index)
            }
        }
        return (begun, remarks)
    }

    private func signal(_ command: WorkerSignalRequested) {
        guard let indices = indices(of: command.worker) else { return }
        guard let signal = SignalNumber(command.signal) else {
            return answer("found the signal \(command.signal), expected one that has a name")
        }
        var (sent, down): ([String], [String]) = ([], [])
        for index in indices {
            guard let status = core.status(at: index) else { continue }
            if let process = core.signal(index: index, signal) {
                sent.append("\(signal) was sent to worker \(quoted(status.name)), process \(process)")
            } else {
                down.append("worker \(quoted(status.name)) has no process, it \(status.state.predicate)")
            }
        }
        answer(down.isEmpty ? nil : (down + sent).joined(separator: "; "), remarks: sent)
    }

    /// Waits until a command is done or has failed.
    ///
    /// - Returns: Why the command has failed, as a sentence; nil if it is done.
    private func outcome(of command: WatchedCommand, _ index: Int, startsBefore: Int) async -> String? {
        let watch = WorkerCommandWatch(command, startsBefore: startsBefore)
        guard let name = core.status(at: index)?.name else { return command == .stop ? nil : "the worker was removed" }
        for await update in WorkerStatusUpdates(board: core.statusBoard) {
            guard let now = core.status(at: index), let told = update.workers.first(where: { $0.name == name }) else {
                // A worker is stopped before it is removed.
                return command == .stop ? nil : "worker \(quoted(name)) was removed"
            }
            guard update.changed.map({ $0.name == name }) ?? true else { continue }
            switch watch.told(told, now: now) {
            case .goesOn: continue
            case .done: return nil
            case .failed(let why): return "worker \(quoted(name)) \(why)"
            }
        }
        // All workers have been stopped for good.
        return command == .stop ? nil : "the host has stopped all workers"
    }

    private func answer(
        _ refusal: String?,
        remarks: [String] = [],
        to context: EventContext? = EventContext.current
    ) {
        let remark = remarks.isEmpty ? nil : remarks.joined(separator: "; ")
        let answer = CommandAnswered(refusal: refusal, remark: remark)
        guard let context else { return core.publisher.publish(answer) }
        core.publisher.publish(answer, causedBy: context)
    }

    private func quoted(_ worker: String) -> String { "\"\(worker.shortened(toScalars: 64))\"" }
}
