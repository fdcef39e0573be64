import BridgeClient
import DomainEvents
import EventBridge
import Locks

/// Tells when to ask for further lines of a worker, and when not to any more.
final class LogSigns: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// Why lines are no longer followed.
    enum Ending: Sendable, Hashable {
        /// What was printed has no reader any more.
        case readerGone
        case hostLost(String)
    }

    private let worker: String
    private let signs = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let lock = Lock()
    private var ending: Ending?

    /// - Parameter worker: a worker, a pool, or a member of one.
    init(of worker: String) { self.worker = worker }

    /// Before a client attaches, so that the host is asked for these reports.
    ///
    /// Each is but a sign that there are lines: what is shown are the numbered ones that the host has kept, of which
    /// none is shown twice.
    func subscribe(to publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: WorkerOutput.self) { [self] in noteLines(of: $0.worker) },
            publisher.subscribe(to: WorkerOutputDropped.self) { [self] in noteLines(of: $0.worker) },
            publisher.subscribe(to: HostLost.self) { [self] in end(.hostLost($0.reason)) },
        ]
    }

    func end(_ ending: Ending) {
        lock.withLock { self.ending = self.ending ?? ending }
        signs.continuation.yield()
    }

    /// Returns when there may be further lines.
    ///
    /// - Returns: Why there are none to be shown any more; nil otherwise.
    func next() async -> Ending? {
        for await _ in signs.stream { return lock.withLock { ending } }
        return .readerGone
    }

    private func noteLines(of name: String) {
        if name == worker || name.hasPrefix("\(worker).") { signs.continuation.yield() }
    }
}
