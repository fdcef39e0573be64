public import Dispatch

/// Delivery on the main actor; written `on: .main`.
public struct MainDelivery: Sendable {
    private init() {}

    /// The main actor, through the main dispatch queue.
    public static let main = MainDelivery()
}

/// Delivery on a queue; written `on: .queue(queue)`.
public struct QueueDelivery: Sendable {
    package let executor: StrandExecutor

    package init(executor: StrandExecutor) {
        self.executor = executor
    }

    /// The given queue.
    ///
    /// All deliveries of one publisher on one queue form one strand: handlers run one at a time and in order, also on a
    /// concurrent queue. A strand belongs to a queue object: `DispatchQueue.global()` may return a new object each
    /// time, and so make a new strand.
    public static func queue(_ queue: DispatchQueue) -> QueueDelivery { QueueDelivery(executor: .queue(queue)) }
}

/// Delivery on the actor from which `subscribe` is called; written `on: .caller`.
public struct CallerDelivery: Sendable {
    private init() {}

    /// The actor that the calling code is isolated to.
    public static let caller = CallerDelivery()
}
