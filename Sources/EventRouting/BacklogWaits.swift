import Locks

/// The peers whose events wait until the events that another peer published get through.
///
/// A peer's event stays unacknowledged while the events that its receiver publishes cannot leave the receiver. So a
/// slow receiver at the end of a chain slows the peer at its beginning. Peers that publish for each other could all
/// wait in this way, in a circle. The wait that would close the circle is left out, and so all these peers go on.
final class BacklogWaits: Sendable {
    private struct Wait: Hashable {
        let sender: ObjectIdentifier
        let target: ObjectIdentifier
    }

    private let lock = Lock()
    /// How many events wait, by sender and target; guarded by `lock`.
    private nonisolated(unsafe) var waits: [Wait: Int] = [:]

    /// Calls `body` when the events that `target` published get through; at once if the wait would close a circle.
    func wait(_ sender: Peer, for target: Peer, _ body: @escaping @Sendable () -> Void) {
        guard target.isBackedUp else { return body() }
        let wait = Wait(sender: ObjectIdentifier(sender), target: ObjectIdentifier(target))
        let mayWait = lock.withLock {
            guard !isAwaited(wait.sender, by: wait.target) else { return false }
            waits[wait, default: 0] += 1
            return true
        }
        guard mayWait else { return body() }
        target.whenNotBackedUp { [self] in
            end(wait)
            body()
        }
    }

    private func end(_ wait: Wait) {
        lock.withLock {
            guard let count = waits[wait] else { return }
            waits[wait] = count > 1 ? count - 1 : nil
        }
    }

    /// Whether `target` waits for `sender`, directly or through others.
    ///
    /// The caller holds the lock.
    private func isAwaited(_ sender: ObjectIdentifier, by target: ObjectIdentifier) -> Bool {
        var reached: Set<ObjectIdentifier> = [target]
        var next = [target]
        while let peer = next.popLast() {
            if peer == sender { return true }
            for wait in waits.keys where wait.sender == peer && reached.insert(wait.target).inserted {
                next.append(wait.target)
            }
        }
        return false
    }
}
