import Locks

/// Waits for the children that have outlived their objects, so that none stays in the process table after its exit.
///
/// One thread waits for all of these children, and ends with the last of them.
///
/// `@unchecked Sendable` is sound: the mutable properties are touched under `lock` only.
final class AbandonedChildren: @unchecked Sendable {
    static let shared = AbandonedChildren()

    private let lock = Lock()
    /// Waits for the children; nil while there are none.
    private var poller: Poller?
    private var count = 0

    private init() {}

    /// Takes a child over, and returns at once.
    ///
    /// When the child ends, the waiting thread kills what is left of the child's group, if that was asked for, and
    /// takes the child's status. If the system has no thread or descriptor left to wait with, the child stays in the
    /// process table after its exit.
    func add(_ child: ChildProcess) {
        guard let poller = try? begin() else { return }
        do {
            try child.onExit(on: poller) { [self] _ in end() }
        } catch {
            end()
        }
    }

    private func begin() throws(SystemError) -> Poller {
        try lock.withLock { () throws(SystemError) -> Poller in
            let poller: Poller
            if let present = self.poller { poller = present } else { poller = try Poller(name: "abandoned") }
            self.poller = poller
            count += 1
            return poller
        }
    }

    private func end() {
        let idle = lock.withLock { () -> Poller? in
            count -= 1
            return count == 0 ? self.poller.take() : nil
        }
        idle?.stop()
    }
}
