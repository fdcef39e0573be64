public import Dispatch

/// Delivery on the main actor; written `on: .main`.
public struct MainDelivery: Sendable {
    private init() {}

    /// The main actor, through the main dispatch queue.
    public static let main = MainDelivery()
}

/// Delivery on a queue; written `on: .queue(queue)`.
public struct QueueDelivery: Sendable {
    package let executor: LineExecutor

    package init(executor: LineExecutor) {
        self.executor = executor
    }

    /// The given queue.
    ///
    /// What one publisher delivers there is one line: it runs one at a time and in order, also on a concurrent queue.
    /// The object makes the difference: `DispatchQueue.global()` returns another one each time, and with it another
    /// line.
    public static func queue(_ queue: DispatchQueue) -> QueueDelivery { QueueDelivery(executor: .queue(queue)) }
}

/// Delivery on the actor from which `subscribe` is called; written `on: .caller`.
public struct CallerDelivery: Sendable {
    private init() {}

    /// The actor that the calling code is isolated to.
    public static let caller = CallerDelivery()
}
