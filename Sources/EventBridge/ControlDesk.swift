import BridgeControl
import BridgePlatform
import BridgeProtocol
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Answers the commands of those who are attached to the host: how everything is, and that a worker is to be stopped or started anew.
///
/// A command is an event as any other, handled on the thread that reads its sender's link. A command about a worker is done there at once; what
/// waits for the worker's answer is a task, so that one command never holds up another.
final class ControlDesk: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let core: HostCore
    private let attached: AttachedClients
    private let lock = Lock()
    private var subscriptions: [Subscription] = []
    /// On the monotonic clock, in nanoseconds.
    private var openedAt: UInt64 = 0

    init(_ core: HostCore, _ attached: AttachedClients) {
        self.core = core
        self.attached = attached
    }

    // MARK: - Life

    /// Before anybody can attach.
    func open() {
        let publisher = core.publisher
        let made = [
            publisher.subscribe(to: BridgeStatusRequested.self) { [weak self] _ in self?.tellStatus() },
            publisher.subscribe(to: WorkerStopRequested.self) { [weak self] in self?.take(.stop, $0.worker) },
            publisher.subscribe(to: WorkerRestartRequested.self) { [weak self] in self?.take(.restart, $0.worker) },
        ]
        lock.withLock { (subscriptions, openedAt) = (made, MonotonicClock.now()) }
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
        let uptime = MonotonicClock.now() - lock.withLock { openedAt }
        return BridgeReport(of: core, clients: attached.statuses, uptime: uptime)
    }

    private func tellStatus() { core.publisher.publish(BridgeStatusReported(report())) }

    private func take(_ command: WorkerCommand, _ worker: String) {
        let context = EventContext.current
        guard context?.attempt ?? 1 == 1 else {
            // Its sender's link has ended before it was told that the command had arrived.
            return answer(
                """
                worker \(quoted(worker)) was left alone: the link broke off while the command was on its way, so that it may have been \
                done before
                """
            )
        }
        let indices = core.indices(of: worker)
        guard !indices.isEmpty else { return answer("there is no worker \(quoted(worker))") }
        guard core.supervisor?.isRunning == true else {
            return answer("worker \(quoted(worker)) was left alone: the host is starting or stopping")
        }
        var starts = startCounts(of: indices)
        switch command {
        case .stop:
            for index in indices.reversed() { core.stopWorker(index) }
            // From here on nobody starts it who has not been asked to.
            starts = startCounts(of: indices)
        case .restart: for index in indices { core.restart(index) }
        }
        Task(executorPreference: Simulation.taskExecutor) { [self, starts] in
            var refusal: String?
            for (index, starts) in zip(indices, starts) where refusal == nil {
                refusal = await outcome(of: command, index, startsBefore: starts)
            }
            answer(refusal, to: context)
        }
    }

    private func startCounts(of indices: [Int]) -> [Int] { indices.map { core.status(at: $0)?.starts ?? 0 } }

    /// - Returns: Why it is not as it should be; nil if it is.
    private func outcome(of command: WorkerCommand, _ index: Int, startsBefore: Int) async -> String? {
        let watch = WorkerCommandWatch(command, startsBefore: startsBefore)
        guard let name = core.status(at: index)?.name else { return command == .stop ? nil : "the worker was removed" }
        for await update in WorkerStatusUpdates(board: core.statusBoard) {
            guard let now = core.status(at: index), let told = update.workers.first(where: { $0.name == name }) else {
                // One that is removed is stopped before.
                return command == .stop ? nil : "worker \(quoted(name)) was removed"
            }
            guard update.changed.map({ $0.name == name }) ?? true else { continue }
            switch watch.told(told, now: now) {
            case .goesOn: continue
            case .done: return nil
            case .failed(let why): return "worker \(quoted(name)) \(why)"
            }
        }
        // Everything has been stopped for good.
        return command == .stop ? nil : "the host has stopped all workers"
    }

    private func answer(_ refusal: String?, to context: EventContext? = EventContext.current) {
        let answer = CommandAnswered(refusal: refusal)
        guard let context else { return core.publisher.publish(answer) }
        core.publisher.publish(answer, causedBy: context)
    }

    private func quoted(_ worker: String) -> String { "\"\(worker.shortened(toScalars: 64))\"" }
}
