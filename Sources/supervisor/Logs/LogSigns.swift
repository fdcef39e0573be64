import BridgeClient
import DomainEvents
import EventBridge
import Locks

/// Signals when to ask for further lines of a worker, and when to stop asking.
final class LogSigns: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// Why lines are no longer followed.
    enum Ending: Sendable, Hashable {
        /// The output has no reader any more.
        case readerGone
        case hostLost(String)
    }

    private let worker: String
    private let signs = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let lock = Lock()
    private var ending: Ending?

    /// - Parameter worker: a worker, a pool, or a member of one.
    init(of worker: String) { self.worker = worker }

    /// Subscribes to the reports that there are further lines; called before a client attaches, so that the client asks
    /// the host for these reports.
    ///
    /// A report only says that there are lines. The client asks the host for the lines that the host has kept and
    /// numbered, so none of them is shown twice.
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

    /// Waits until there may be further lines, or lines are no longer followed.
    ///
    /// - Returns: Why lines are no longer followed; nil if there may be further lines.
    func next() async -> Ending? {
        for await _ in signs.stream { return lock.withLock { ending } }
        return .readerGone
    }

    private func noteLines(of name: String) {
        if name == worker || name.hasPrefix("\(worker).") { signs.continuation.yield() }
    }
}
