import BridgePlatform
import BridgeTransport
import EventBridge
import EventBridgeTesting
import Locks
import Supervision

/// Starts a host's workers: the peer, life after life as the scene says, and all others as honest workers.
final class HostStage: WorkerLauncher, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// What the peer does in one life: from one start to its end.
    enum Life {
        /// The peer sends the frames of a script; without a script it takes everything that waits for it, until it is
        /// told to end.
        case scripted(Script?)
        /// The peer is honest, but a meddler changes the frames between it and its host.
        case meddled(toHost: Script, toWorker: Script)
    }

    private typealias Completion = @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void

    private let honest: InMemoryLauncher
    private let workers: [InMemoryWorker]
    private let peer: String
    private let lock: Lock
    private let changed: Condition
    private var waiting: (order: LaunchOrder, completion: Completion)?
    private var isGivenUp = false
    /// Whether the peer is honest in every further life.
    private var isOver = false
    private var present: ScriptedStream?
    private var startsOfOthers = 0

    /// - Parameter peer: the name of the worker that is the peer.
    init(_ workers: [InMemoryWorker], peer: String) {
        self.workers = workers
        honest = InMemoryLauncher(workers)
        self.peer = peer
        lock = Lock()
        changed = Condition(lock: lock)
    }

    /// How many starts the workers other than the peer have had in all.
    var othersStarted: Int { lock.withLock { startsOfOthers } }

    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        let isHonest = lock.withLock {
            if order.specification.name != peer {
                startsOfOthers += 1
                return true
            }
            if isOver { return true }
            waiting = (order, completion)
            changed.broadcast()
            return false
        }
        if isHonest { honest.launch(order, completion: completion) }
    }

    /// Notes that the host no longer starts the peer by itself.
    func wasGivenUp() {
        lock.withLock {
            isGivenUp = true
            changed.broadcast()
        }
    }

    /// Returns when the peer's last life is over: true if the host wants to start the peer again, false if it gave up.
    func waitForOrder() -> Bool {
        lock.withLock {
            while waiting == nil, !isGivenUp { changed.wait() }
            // This is reported only once: a peer that is given up a second time was started in between.
            isGivenUp = false
            return waiting != nil
        }
    }

    /// Ends the peer's scripted life.
    func endLife() { lock.withLock { present }?.end() }

    /// From now on the peer is honest.
    func end() {
        let order = lock.withLock {
            isOver = true
            return takeOrder()
        }
        if let order { honest.launch(order.order, completion: order.completion) }
    }

    /// The caller holds the lock.
    private func takeOrder() -> (order: LaunchOrder, completion: Completion)? {
        defer { waiting = nil }
        return waiting
    }

    /// Gives the peer the life that the host waits for.
    ///
    /// - Parameter look: called whenever the host is about to read from the peer.
    func begin(_ life: Life, look: @escaping @Sendable () -> Void) {
        guard let (order, completion) = lock.withLock({ takeOrder() }) else { return }
        switch life {
        case .scripted(let script):
            let process = ScriptedProcess()
            let stream = ScriptedStream(script, order, look: look) { process.end(.exited(status: 1)) }
            lock.withLock { present = stream }
            completion(.success(LaunchedWorker(stream: stream, process: process)))
        case .meddled(let toHost, let toWorker):
            let ends = Meddler.pair(toHost: toHost, toWorker: toWorker, poller: order.poller, look: look)
            InMemoryLauncher(workers) { _ in ends }.launch(order, completion: completion)
        }
    }
}

/// The process of a scripted life.
private final class ScriptedProcess: WorkerProcess, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    let processIdentifier: Int32 = 1 << 29
    private let lock = Lock()
    private var exit: ExitReason?
    private var handler: (@Sendable (ExitReason) -> Void)?

    func signal(_ signal: ChildSignal) { end(.signaled(number: signal.number, coreDumped: false)) }

    func onExit(_ handler: @escaping @Sendable (ExitReason) -> Void) {
        let known = lock.withLock {
            if exit == nil { self.handler = handler }
            return exit
        }
        if let known { handler(known) }
    }

    func end(_ reason: ExitReason) {
        let handler = lock.withLock { () -> (@Sendable (ExitReason) -> Void)? in
            guard exit == nil else { return nil }
            exit = reason
            defer { self.handler = nil }
            return self.handler
        }
        handler?(reason)
    }
}
