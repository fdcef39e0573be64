public import DomainEvents

/// A customer wants a box.
public struct BoxOrdered: DomainEvent {
    /// The order's number, which goes with the box.
    public let number: Int

    /// Makes the event.
    public init(number: Int) { self.number = number }
}

/// There is a box for an order.
public struct BoxProvisioned: DomainEvent {
    /// The order's number.
    public let number: Int

    /// Makes the event.
    public init(number: Int) { self.number = number }
}

/// The box of an order has a label.
public struct BoxLabelled: DomainEvent {
    /// The order's number.
    public let number: Int
    /// What the label says.
    public let label: String

    /// Makes the event.
    public init(number: Int, label: String) { (self.number, self.label) = (number, label) }
}
