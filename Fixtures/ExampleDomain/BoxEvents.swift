public import DomainEvents

/// A user wants a box.
///
/// The answer is ``BoxProvisioned`` or ``BoxProvisioningFailed``. An event with a capacity that no box can have is
/// still valid: the request fails, and the answer says why.
public struct BoxOrdered: DomainEvent {
    /// What is written on the box.
    public let label: String
    /// How many items the box is to hold: 5, 10 or 20.
    public let capacity: Int
    /// The identifier that the box is to have; if nil, provisioning chooses one at random.
    public let boxID: BoxID?

    /// Makes the event.
    public init(label: String, capacity: Int, boxID: BoxID? = nil) {
        self.label = label
        self.capacity = capacity
        self.boxID = boxID
    }

    /// Refuses a label that is too long.
    public func validate() throws {
        try InvalidEvent.check(label, named: "label")
    }
}

/// There is a new box.
public struct BoxProvisioned: DomainEvent {
    /// The new box.
    public let boxID: BoxID
    /// What is written on it.
    public let label: String
    /// How many items it holds.
    public let capacity: Int

    /// Makes the event.
    public init(boxID: BoxID, label: String, capacity: Int) {
        self.boxID = boxID
        self.label = label
        self.capacity = capacity
    }
}

/// A box that was ordered cannot be provided.
public struct BoxProvisioningFailed: DomainEvent {
    /// The label that was ordered.
    public let label: String
    /// The capacity that was ordered.
    public let capacity: Int
    /// Why, in a sentence.
    public let reason: String

    /// Makes the event.
    public init(label: String, capacity: Int, reason: String) {
        self.label = label
        self.capacity = capacity
        self.reason = reason
    }
}

/// A user wants a box gone.
///
/// The box's items go to the other boxes first, each announced with ``ItemMoved``; then ``BoxRemoved`` is the answer.
/// If not all items fit, nothing changes: the answers are ``BoxItemsRedistributionFailed`` and ``BoxRemovalFailed``.
public struct BoxRemovalRequested: DomainEvent {
    /// The box to remove.
    public let boxID: BoxID

    /// Makes the event.
    public init(boxID: BoxID) {
        self.boxID = boxID
    }
}

/// A box is gone; its items were moved before.
public struct BoxRemoved: DomainEvent {
    /// The box that was removed.
    public let boxID: BoxID

    /// Makes the event.
    public init(boxID: BoxID) {
        self.boxID = boxID
    }
}

/// The items of a box could not be spread over the other boxes: all items stay where they are.
public struct BoxItemsRedistributionFailed: DomainEvent {
    /// The box that was to be removed.
    public let boxID: BoxID
    /// Why, in a sentence.
    public let reason: String

    /// Makes the event.
    public init(boxID: BoxID, reason: String) {
        self.boxID = boxID
        self.reason = reason
    }
}

/// A box was not removed.
public struct BoxRemovalFailed: DomainEvent {
    /// The box that was to be removed.
    public let boxID: BoxID
    /// Why, in a sentence.
    public let reason: String

    /// Makes the event.
    public init(boxID: BoxID, reason: String) {
        self.boxID = boxID
        self.reason = reason
    }
}
