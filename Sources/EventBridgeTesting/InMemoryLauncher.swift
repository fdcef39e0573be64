package import BridgePlatform
package import BridgeTransport
import BridgeWorker
import DomainEvents
package import EventBridge
import Locks
import Supervision
import Synchronization

/// Starts workers as tasks of this process.
package struct InMemoryLauncher: WorkerLauncher {
    private let bodies: [String: @Sendable (EventPublisher) async throws -> [Subscription]]
    private let pair: @Sendable (Poller) -> (any ByteStream, any ByteStream)

    /// - Parameter pair: makes the two ends of a link; the first is the host's.
    package init(
        _ workers: [InMemoryWorker],
        over pair: @escaping @Sendable (Poller) -> (any ByteStream, any ByteStream) = { MemoryStream.pair(poller: $0) }
    ) {
        self.pair = pair
        let bodies = workers.flatMap { worker in worker.names.map { ($0, worker.body) } }
        self.bodies = Dictionary(bodies) { first, _ in first }
    }

    package func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        let name = order.specification.name
        guard let body = bodies[name] else {
            completion(.failure(LaunchFailure(reason: .spawnFailed("no worker has the name \"\(name)\"", errno: nil))))
            return
        }
        let (hostEnd, workerEnd) = pair(order.poller)
        let session = WorkerSession(name: name, cookie: order.cookie, poller: order.poller)
        let process = InMemoryProcess(session: session)
        process.run(over: workerEnd, body)
        completion(.success(LaunchedWorker(stream: hostEnd, process: process)))
    }
}

/// The stand-in for a worker's process.
final class InMemoryProcess: WorkerProcess, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let session: WorkerSession
    private let lock = Lock()
    private var exit: ExitReason?
    private var handler: (@Sendable (ExitReason) -> Void)?
    private var task: Task<Void, Never>?
    private var subscriptions: [Subscription] = []

    let processIdentifier: Int32

    /// The number of the newest process; all such numbers are above those of real processes.
    private static let lastIdentifier = Atomic<Int32>(1 << 30)

    init(session: WorkerSession) {
        self.session = session
        processIdentifier = Self.lastIdentifier.wrappingAdd(1, ordering: .relaxed).newValue
    }

    func run(
        over stream: any ByteStream,
        _ body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]
    ) {
        let task = Task(executorPreference: Simulation.taskExecutor) { [self] in
            do {
                try await session.run(over: stream) { publisher in self.keep(try await body(publisher)) }
                end(.exited(status: 0))
            } catch {
                // EX_SOFTWARE, the status with which `BridgeWorker.main` ends a process.
                end(.exited(status: 70))
            }
        }
        lock.withLock { self.task = task }
    }

    private func keep(_ subscriptions: [Subscription]) {
        let isOver = lock.withLock {
            if exit == nil { self.subscriptions = subscriptions }
            return exit != nil
        }
        if isOver { for subscription in subscriptions { subscription.cancel() } }
    }

    func signal(_ signal: ChildSignal) {
        // As if the process had no handler for the signal: its subscribers get no more events, and the link breaks off.
        end(.signaled(number: signal.number, coreDumped: false))
    }

    func onExit(_ handler: @escaping @Sendable (ExitReason) -> Void) {
        let known = lock.withLock {
            if exit == nil { self.handler = handler }
            return exit
        }
        if let known { handler(known) }
    }

    /// What `end` cancels and calls after it has released the lock.
    private typealias Ended = (Task<Void, Never>?, [Subscription], (@Sendable (ExitReason) -> Void)?)

    private func end(_ reason: ExitReason) {
        let (ended, kept, handler) = lock.withLock { () -> Ended in
            guard exit == nil else { return (nil, [], nil) }
            exit = reason
            defer { (subscriptions, self.handler) = ([], nil) }
            return (self.task, subscriptions, self.handler)
        }
        ended?.cancel()
        // The session ends first: once the subscriptions have ended, it would report further events as handled.
        session.abandon()
        for subscription in kept { subscription.cancel() }
        handler?(reason)
    }
}
