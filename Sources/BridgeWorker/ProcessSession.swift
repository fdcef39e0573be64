import BridgePlatform
package import BridgeTransport
package import DomainEvents
import Locks

/// A worker session in a process of its own: tied to the life of the process that started it.
struct ProcessSession: Sendable {
    private let session: WorkerSession
    private let stream: UnixStream

    /// How long a worker may outlive its link, in nanoseconds: time for a running handler, but below the promised 1 s.
    private static let exitGrace: UInt64 = 800_000_000

    /// How long the process's main thread, if it runs the worker, waits in place for the host's answer, in nanoseconds.
    ///
    /// A suspended task goes on on threads of Dispatch, and to make its first threads takes longer than the host takes
    /// for its answer. If the host takes this long, it is busy: other tasks then get the thread. A thread of a pool
    /// never waits in place.
    private static let patience: UInt64 = 20_000_000

    /// SIGKILL, on every system.
    private static let killSignal: CInt = 9

    init(_ inherited: consuming InheritedLink) throws(SystemError) {
        let poller = try Poller(name: "bridge")
        let parent = CurrentProcess.parentIdentifier
        // On every system the link breaks when the host dies, unless another process holds the host's socket. The
        // poller notices that even while a handler blocks the reading thread. Where the kernel sends a signal too, the
        // signal ends even a worker stopped by SIGSTOP.
        if try ParentDeathSignal.arm(Self.killSignal, expectedParent: parent) == .parentIsGone {
            CurrentProcess.exitImmediately(0)
        }
        let watched = try FileDescriptor.duplicate(inherited.socket.rawValue)
        // Edge-triggered, because the hang-up lasts, and the poller would otherwise report it again in every turn. This
        // is no array literal: to make a set of an array, the runtime would look for a conformance in all images.
        _ = try poller.register(watched.release(), interest: .peerHangUp.union(.edgeTriggered)) { _ in
            poller.schedule(after: Self.exitGrace) { CurrentProcess.exitImmediately(0) }
        }
        session = WorkerSession(name: inherited.name, cookie: inherited.cookie, poller: poller)
        stream = UnixStream(inherited.socket, memory: inherited.memory, shelf: inherited.shelf, poller: poller)
    }

    func run(_ body: @escaping @Sendable (EventPublisher) async throws -> Void) async throws {
        // The session is kept for the life of the process: until the end the worker's threads may publish, and a
        // session that is released refuses their events.
        _ = Unmanaged.passRetained(session)
        let patience = CurrentThread.isMain ? Self.patience : 0
        try await session.run(over: stream, patience: patience, body)
    }
}

extension WorkerSession {
    /// Runs a worker over `stream`; returns when `body` has returned and the link has ended.
    ///
    /// - Parameter patience: how many nanoseconds the calling thread may wait in place for the host's answer.
    /// - Throws: ``WorkerError``, or what `body` throws.
    package func run(
        over stream: any ByteStream,
        patience: UInt64 = 0,
        _ body: @escaping @Sendable (EventPublisher) async throws -> Void
    ) async throws {
        let publisher = try await begin(over: stream, patience: patience)
        do {
            try await WorkerSession.$current.withValue(self) { try await body(publisher) }
        } catch {
            abandon()
            throw error
        }
        becomeReady()
        if case .failed(let error) = await waitForEnd() { throw error }
    }
}

/// Keeps a worker's subscriptions for as long as the worker runs.
final class KeptSubscriptions: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var subscriptions: [Subscription] = []

    func keep(_ more: [Subscription]) {
        lock.withLock { subscriptions += more }
    }
}
