public import Dispatch

/// Delivery on the main actor; written `on: .main`.
public struct MainDelivery: Sendable {
    private init() {}

    /// The main actor, through the main dispatch queue.
    public static let main = MainDelivery()
}

/// Delivery on a dispatch queue; written `on: .queue(queue)`.
public struct QueueDelivery: Sendable {
    let queue: DispatchQueue

    /// The given queue.
    ///
    /// On a concurrent one each subscriber still gets its events one at a time and in order.
    public static func queue(_ queue: DispatchQueue) -> QueueDelivery { QueueDelivery(queue: queue) }
}
