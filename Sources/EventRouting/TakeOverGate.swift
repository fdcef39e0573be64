import BridgePlatform
import BridgeTransport
import Locks

/// Where what dead workers have left waits until those who are to get it have room.
///
/// A living worker that publishes too much for another is slowed by its window. What a dead one has left has no window:
/// its takeover waits here. Two that died with events for each other would wait for one another for ever, as neither is
/// started again before its takeover is over: who would close such a circle does not wait, and goes beyond the limit.
/// Nor does anybody wait for one that is not started before others have ended, such as a member of a group that is
/// still going down. And where a process that lives waits for an answer of the dead one, its handlers may make room
/// only when that has been started: the rest of what the dead one has left for it goes beyond its limit.
final class TakeOverGate: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    private let lock: Lock
    private let changed: Condition
    /// Where the takeover of a peer waits.
    private var waits: [ObjectIdentifier: Wait] = [:]
    private var isOpen = false

    init() {
        lock = Lock()
        changed = Condition(lock: lock)
    }

    /// Blocks the calling thread, which takes over what `sender` has left, as long as `target` has no room for it.
    func wait(_ sender: Route, for target: Route) {
        guard target.isOverfull else { return }
        let turn = Turn()
        let mayWait = lock.withLock {
            guard !isOpen, !isAwaited(sender, by: target) else { return false }
            waits[ObjectIdentifier(sender)] = Wait(target: target, turn: turn)
            return true
        }
        guard mayWait else { return }
        // Only now: of what is asked from here on ``wasAsked(_:by:)`` tells.
        if sender.isAsked(by: target) { pass(turn) } else { target.whenNotOverfull(for: sender) { self.pass(turn) } }
        lock.withLock {
            while !isOpen, !turn.hasCome { changed.wait() }
            waits[ObjectIdentifier(sender)] = nil
        }
    }

    /// For whose room the takeover of what this peer has left waits; nil if it does not.
    func awaited(by sender: Route) -> Route? { lock.withLock { waits[ObjectIdentifier(sender)]?.target } }

    /// The process of `asker` waits for an answer of `sender` from now on.
    func wasAsked(_ sender: Route, by asker: Route) {
        lock.withLock {
            guard let wait = waits[ObjectIdentifier(sender)], wait.target === asker else { return }
            wait.turn.hasCome = true
            changed.broadcast()
        }
    }

    /// Lets everybody pass from now on.
    func open() {
        lock.withLock {
            isOpen = true
            changed.broadcast()
        }
    }

    /// For whose room a takeover waits, and in which place.
    private struct Wait {
        let target: Route
        let turn: Turn
    }

    /// A place in front of the gate; guarded by the gate's lock.
    ///
    /// The peer that is waited for keeps it, and so it does not keep the peer.
    private final class Turn: @unchecked Sendable {
        var hasCome = false
    }

    private func pass(_ turn: Turn) {
        lock.withLock {
            turn.hasCome = true
            changed.broadcast()
        }
    }

    /// Whether a takeover waits for room at `sender`, directly or through others, without whose end `target` makes
    /// none.
    ///
    /// With the lock held.
    private func isAwaited(_ sender: Route, by target: Route) -> Bool {
        var next: Route? = target
        while let route = next {
            if route === sender { return true }
            next = waits[ObjectIdentifier(route)]?.target
        }
        return false
    }
}

extension Route {
    /// Whether a process of `asker` that lives waits for an answer of this peer.
    ///
    /// Once so, it is taken to be so for the rest of the takeover: the takeover does not look through all that lies
    /// here for each of its events.
    fileprivate func isAsked(by asker: Route) -> Bool {
        let (link, isKnown) = lock.withLock { (current, askers.contains(ObjectIdentifier(asker))) }
        if isKnown { return true }
        guard link.awaitedEvents.contains(where: { asker.link(toPeerOf: $0) != nil }) else { return false }
        lock.withLock { if current === link { askers.insert(ObjectIdentifier(asker)) } }
        return true
    }
}
