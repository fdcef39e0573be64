public import DomainEvents

/// An item has come and wants a place in some box.
///
/// The answer is ``ItemProvisioned`` or ``ItemDistributionFailed``.
public struct ItemReceived: DomainEvent {
    /// What the item is called.
    public let title: String
    /// The identifier that the item is to have; if nil, provisioning chooses one at random.
    public let itemID: ItemID?

    /// Makes the event.
    public init(title: String, itemID: ItemID? = nil) {
        self.title = title
        self.itemID = itemID
    }

    /// Refuses a title that is too long.
    public func validate() throws {
        try InvalidEvent.check(title, named: "title")
    }
}

/// An item was put into a box.
public struct ItemProvisioned: DomainEvent {
    /// The new item.
    public let itemID: ItemID
    /// The box it lies in.
    public let boxID: BoxID
    /// What the item is called; not what is written on the box.
    public let title: String

    /// Makes the event.
    public init(itemID: ItemID, boxID: BoxID, title: String) {
        self.itemID = itemID
        self.boxID = boxID
        self.title = title
    }
}

/// No box took the item.
public struct ItemDistributionFailed: DomainEvent {
    /// What the item is called.
    public let title: String
    /// Why, in a sentence.
    public let reason: String

    /// Makes the event.
    public init(title: String, reason: String) {
        self.title = title
        self.reason = reason
    }
}

/// An item went from one box to another, because the first is to be removed.
public struct ItemMoved: DomainEvent {
    /// The item.
    public let itemID: ItemID
    /// The box it lay in.
    public let from: BoxID
    /// The box it lies in now.
    public let to: BoxID

    /// Makes the event.
    public init(itemID: ItemID, from: BoxID, to: BoxID) {
        self.itemID = itemID
        self.from = from
        self.to = to
    }
}

/// A user wants an item gone.
///
/// The answer is ``ItemRemoved`` or ``ItemRemovalFailed``.
public struct ItemRemovalRequested: DomainEvent {
    /// The item to remove.
    public let itemID: ItemID
    /// The box it is believed to lie in.
    public let boxID: BoxID

    /// Makes the event.
    public init(itemID: ItemID, boxID: BoxID) {
        self.itemID = itemID
        self.boxID = boxID
    }
}

/// An item is gone.
public struct ItemRemoved: DomainEvent {
    /// The item that was removed.
    public let itemID: ItemID
    /// The box it lay in.
    public let boxID: BoxID

    /// Makes the event.
    public init(itemID: ItemID, boxID: BoxID) {
        self.itemID = itemID
        self.boxID = boxID
    }
}

/// An item was not removed.
public struct ItemRemovalFailed: DomainEvent {
    /// The item that was to be removed.
    public let itemID: ItemID
    /// The box it was believed to lie in.
    public let boxID: BoxID
    /// Why, in a sentence.
    public let reason: String

    /// Makes the event.
    public init(itemID: ItemID, boxID: BoxID, reason: String) {
        self.itemID = itemID
        self.boxID = boxID
        self.reason = reason
    }
}
