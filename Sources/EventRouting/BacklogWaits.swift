import BridgeTransport
import Locks

/// The peers whose events wait until another peer has room, or until the events that this peer published get through.
///
/// A peer's event stays unacknowledged while the events that its receiver publishes cannot leave the receiver. So a
/// slow receiver at the end of a chain slows the peer at its beginning. Peers that publish for each other could all
/// wait in this way, in a circle. ``WaitGraph`` finds such a circle. One of its waits is left out or given up, and so
/// all these peers go on.
final class BacklogWaits: Sendable {
    private typealias Graph = WaitGraph<ObjectIdentifier, @Sendable () -> Void>

    private let lock = Lock()
    /// Guarded by `lock`.
    private nonisolated(unsafe) var graph = Graph()

    /// Calls `body` when `target` has room and the events that `target` published get through.
    ///
    /// `sender` is the peer whose event waits. If the wait for the events that `target` published would close a circle,
    /// that wait is left out.
    func waitForRoom(_ sender: Peer, at target: Peer, _ body: @escaping @Sendable () -> Void) {
        // `target` may be only backed up, or have room again.
        guard target.isCrowded else { return wait(sender, for: target, body) }
        let pair = pair(sender, target)
        let speaksLines = sender.link.speaksLines
        let goOn = lock.withLock { graph.waitForRoom(pair, speaksLines: speaksLines) }
        for body in goOn { body() }
        target.whenRoom { [self] in
            lock.withLock { graph.crowdEnded(pair) }
            wait(sender, for: target, body)
        }
    }

    /// Calls `body` when the events that `target` published get through; at once if the wait would close a circle.
    func wait(_ sender: Peer, for target: Peer, _ body: @escaping @Sendable () -> Void) {
        guard target.isBackedUp else { return body() }
        let pair = pair(sender, target)
        let speaksLines = sender.link.speaksLines
        let begun = lock.withLock { graph.waitForBacklog(pair, speaksLines: speaksLines, body) }
        for body in begun.goOn { body() }
        guard begun.watches else { return }
        target.whenNotBackedUp { [self] in
            let ended = lock.withLock { graph.backlogEnded(pair) }
            for body in ended { body() }
        }
    }

    private func pair(_ sender: Peer, _ target: Peer) -> Graph.Pair {
        Graph.Pair(sender: ObjectIdentifier(sender), target: ObjectIdentifier(target))
    }
}
