import BridgePlatform
import Locks

/// Where what dead workers have left waits until those who are to get it have room.
///
/// A living worker that publishes too much for another is slowed by its window. What a dead one has left has no window: its takeover
/// waits here. Two that died with events for each other would wait for one another for ever, as neither is started again before its
/// takeover is over: who would close such a circle does not wait, and goes beyond the limit. Nor does anybody wait for one that is not
/// started before others have ended, such as a member of a group that is still going down.
final class TakeOverGate: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    private let lock: Lock
    private let changed: Condition
    /// For whose room the takeover of a peer waits.
    private var waits: [ObjectIdentifier: Route] = [:]
    private var isOpen = false

    init() {
        lock = Lock()
        changed = Condition(lock: lock)
    }

    /// Blocks the calling thread, which takes over what `sender` has left, as long as `target` has no room for it.
    func wait(_ sender: Route, for target: Route) {
        guard target.isOverfull else { return }
        let mayWait = lock.withLock {
            guard !isOpen, !isAwaited(sender, by: target) else { return false }
            waits[ObjectIdentifier(sender)] = target
            return true
        }
        guard mayWait else { return }
        let turn = Turn()
        target.whenNotOverfull(for: sender) { self.pass(turn) }
        lock.withLock {
            while !isOpen, !turn.hasCome { changed.wait() }
            waits[ObjectIdentifier(sender)] = nil
        }
    }

    /// Whether the takeover of what this peer has left is waiting.
    func isWaiting(_ sender: Route) -> Bool { lock.withLock { waits[ObjectIdentifier(sender)] != nil } }

    /// Lets everybody pass from now on.
    func open() {
        lock.withLock {
            isOpen = true
            changed.broadcast()
        }
    }

    /// A place in front of the gate; guarded by the gate's lock.
    private final class Turn: @unchecked Sendable {
        var hasCome = false
    }

    private func pass(_ turn: Turn) {
        lock.withLock {
            turn.hasCome = true
            changed.broadcast()
        }
    }

    /// Whether a takeover waits for room at `sender`, directly or through others, without whose end `target` makes none.
    ///
    /// With the lock held.
    private func isAwaited(_ sender: Route, by target: Route) -> Bool {
        var next: Route? = target
        while let route = next {
            if route === sender { return true }
            next = waits[ObjectIdentifier(route)]
        }
        return false
    }
}
