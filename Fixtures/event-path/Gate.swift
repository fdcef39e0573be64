import BridgePlatform
import Locks

/// Holds back what one end of a stream writes, so that the events of a flood leave in batches of a fixed size on any
/// machine.
final class Gate: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private let poller: Poller
    private var isPassable = true
    /// What the link does once it may write.
    private var waiting: (@Sendable () -> Void)?

    /// - Parameter poller: the poller of the stream's link.
    init(_ poller: Poller) { self.poller = poller }

    var isOpen: Bool { lock.withLock { isPassable } }

    /// Calls `body` when the gate opens, on the poller's thread.
    func whenOpen(_ body: @escaping @Sendable () -> Void) {
        let isOpen = lock.withLock {
            if !isPassable { waiting = body }
            return isPassable
        }
        if isOpen { poller.perform(body) }
    }

    func close() { lock.withLock { isPassable = false } }

    /// Opens the gate; returns when the link has written what had gathered.
    ///
    /// - Parameter isClosedAgain: whether the gate then closes.
    func open(isClosedAgain: Bool) async {
        await withCheckedContinuation { continuation in
            poller.perform {
                let body = self.lock.withLock {
                    self.isPassable = true
                    return self.waiting.take()
                }
                body?()
                if isClosedAgain { self.close() }
                continuation.resume()
            }
        }
    }
}
