import BridgePlatform
import BridgeTransport
import Locks

/// While a receiver is overfull, delays the recovery of events that a dead worker left for this receiver.
///
/// A living worker that publishes too much for a receiver is slowed by its window. No window holds back the events that
/// a dead worker left: the thread that recovers them waits at the gate. It does not wait in a shutdown, or for a
/// receiver that is closed or paused. In three more cases it goes on, beyond the receiver's limit:
///
/// - The wait would close a circle. If two workers died with events for each other, the recoveries from both would wait
///   for ever, because neither worker is started again before the recovery from it is over.
/// - The receiver's next start waits for other workers: for members of its group that are still going down, or for
///   earlier workers in a start in sequence. The same holds for a receiver whose first start is not requested yet.
/// - A living process of the receiver waits for an answer of the dead worker. Its handlers may make room only when that
///   worker has been started again.
final class RecoveryGate: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    private let lock: Lock
    private let changed: Condition
    /// The waiting recoveries.
    ///
    /// One peer has two of them if its process has died, and then that process's successor too.
    private var waits: [Wait] = []
    private var isOpen = false

    init() {
        lock = Lock()
        changed = Condition(lock: lock)
    }

    /// Blocks the calling thread if `target` is overfull, until `target` has room or the wait is no longer allowed.
    ///
    /// The calling thread recovers the events that `sender` left.
    func wait(_ sender: Peer, for target: Peer) {
        guard target.isOverfull else { return }
        let turn = Turn()
        let mayWait = lock.withLock {
            guard !isOpen, !isAwaited(sender, by: target) else { return false }
            waits.append(Wait(sender: sender, target: target, turn: turn))
            return true
        }
        guard mayWait else { return }
        // The wait was noted before this check, so ``wasAsked(_:by:)`` finds the wait if `target` asks later.
        if sender.isAsked(by: target) { pass(turn) } else { target.whenNotOverfull(for: turn) { self.pass(turn) } }
        lock.withLock {
            while !isOpen, !turn.hasCome { changed.wait() }
            waits.removeAll { $0.turn === turn }
        }
        target.recoveryGoesOn(turn)
    }

    /// The peer for whose room the recovery from `sender` waits; nil if it does not wait.
    func awaited(by sender: Peer) -> Peer? { lock.withLock { waits.first { $0.sender === sender }?.target } }

    /// Called when a process of `requester` begins to wait for an answer of `sender`.
    func wasAsked(_ sender: Peer, by requester: Peer) {
        lock.withLock {
            for wait in waits where wait.sender === sender && wait.target === requester {
                wait.turn.hasCome = true
                changed.broadcast()
            }
        }
    }

    /// Lets all recoveries pass from now on.
    func open() {
        lock.withLock {
            isOpen = true
            changed.broadcast()
        }
    }

    /// The wait of one recovery: the peer whose process died, the peer that has to make room, and the recovery's turn.
    private struct Wait {
        let sender: Peer
        let target: Peer
        let turn: Turn
    }

    /// Whether the turn of a waiting recovery has come; guarded by the gate's lock.
    ///
    /// A turn has no reference to a peer: the peer that has to make room refers to the turn, so there would be a cycle.
    private final class Turn: @unchecked Sendable {
        var hasCome = false
    }

    private func pass(_ turn: Turn) {
        lock.withLock {
            turn.hasCome = true
            changed.broadcast()
        }
    }

    /// Whether the recovery from `target` waits for room at `sender`, directly or through other recoveries.
    ///
    /// If so, the recovery from `sender` must not wait for room at `target`: that would close a circle. The search
    /// begins at the recovery from `target`, and goes on from each recovery to the peer for whose room it waits.
    ///
    /// The caller holds the lock.
    private func isAwaited(_ sender: Peer, by target: Peer) -> Bool {
        target === sender || waits.contains { $0.sender === target && isAwaited(sender, by: $0.target) }
    }
}

extension Peer {
    /// Whether a living process of `requester` waits for an answer of this peer.
    ///
    /// Once true, this stays true for the rest of the recovery. So the recovery does not search all waiting events
    /// again for each event that it recovers.
    fileprivate func isAsked(by requester: Peer) -> Bool {
        let (link, isKnown) = lock.withLock { (current, requesters.contains(ObjectIdentifier(requester))) }
        if isKnown { return true }
        guard link.awaitedEvents.contains(where: { requester.link(toPeerOf: $0) != nil }) else { return false }
        lock.withLock { if current === link { requesters.insert(ObjectIdentifier(requester)) } }
        return true
    }
}
