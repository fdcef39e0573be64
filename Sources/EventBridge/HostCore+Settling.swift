import BridgePlatform
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// Waiting for events that are on their way.
extension HostCore {
    /// How long an automatic stop waits for events on their way: as long as a requested stop does by default.
    static let drainingTime = Duration.seconds(5)

    /// Returns when one check of all workers that take events finds no event on its way or in a handler.
    func waitUntilIdle() async {
        while true {
            let peers = peers
            for peer in peers where peer.closedReason == nil { await wait(for: peer) }
            // An event can pass from a link that is checked later to one that was checked before.
            let before = peers.map(\.link.activity)
            // Waits for the delivery of the reports so far. Their subscribers may have made requests to the supervisor,
            // so it then waits until those are carried out.
            await reports.passed()
            await requestsPerformed()
            let isQuiet = peers.allSatisfy { $0.closedReason != nil || $0.link.isQuiet }
            if isQuiet, peers.map(\.link.activity) == before { return }
        }
    }

    /// Returns when the supervisor has carried out all requests so far.
    ///
    /// Until then the peer of a worker whose restart was requested may still be closed.
    private func requestsPerformed() async {
        guard let supervisor else { return }
        await withCheckedContinuation { continuation in supervisor.whenPerformed { continuation.resume() } }
    }

    private func wait(for peer: Peer) async {
        let link = peer.link
        await withCheckedContinuation { continuation in
            link.whenQuiet { continuation.resume() }
            // A worker that is given up handles nothing any more. So the wait must end, even if the worker was given
            // up before the wait began.
            if peer.closedReason != nil { link.wakeWaiters() }
        }
        // A link that has ended counts as quiet; its unsettled events move to the next link.
        if link.hasEnded { peer.renew(after: link) }
    }

    /// Does the same as ``waitUntilIdle()``, but for no longer than `limit`.
    func settle(within limit: Duration) async {
        await wait(atMost: limit) { await self.waitUntilIdle() }
    }

    /// Returns when nothing is on its way to these workers or from them, after `limit` at the latest.
    func settle(_ peers: [Peer], within limit: Duration) async {
        await wait(atMost: limit) {
            await self.requestsPerformed()
            while let busy = peers.first(where: { $0.closedReason == nil && !$0.link.isQuiet }) {
                await self.wait(for: busy)
            }
        }
    }

    /// Returns when `quiet` has returned, after `limit` at the latest.
    func wait(atMost limit: Duration, for quiet: @escaping @Sendable () async -> Void) async {
        await withCheckedContinuation { continuation in
            let first = FirstCaller(continuation)
            let timer = poller.schedule(after: limit.nanoseconds) { first.resume() }
            // The task ends when the links do, at the latest.
            Task(executorPreference: Simulation.taskExecutor) {
                await quiet()
                timer.cancelWithoutWaiting()
                first.resume()
            }
        }
    }
}

/// Resumes a continuation on the first call of ``resume()``; later calls do nothing.
private final class FirstCaller: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var continuation: CheckedContinuation<Void, Never>?

    init(_ continuation: CheckedContinuation<Void, Never>) {
        self.continuation = continuation
    }

    func resume() {
        lock.withLock { continuation.take() }?.resume()
    }
}
