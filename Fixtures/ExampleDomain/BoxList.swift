/// What a frontend shows of boxes and items: a value, built from events alone.
public struct BoxList: Sendable {
    /// A box and what lies in it.
    public struct Row: Hashable, Sendable {
        /// The box.
        public let boxID: BoxID
        /// What is written on it.
        public let label: String
        /// How many items it holds.
        public let capacity: Int
        /// What lies in it, the oldest first.
        public let items: [Item]

        /// Makes a row.
        public init(boxID: BoxID, label: String, capacity: Int, items: [Item]) {
            self.boxID = boxID
            self.label = label
            self.capacity = capacity
            self.items = items
        }
    }

    /// An item in its row.
    public struct Item: Hashable, Sendable {
        /// The item.
        public let itemID: ItemID
        /// What the item is called.
        public let title: String

        /// Makes an item.
        public init(itemID: ItemID, title: String) {
            self.itemID = itemID
            self.title = title
        }
    }

    private var boxes: [BoxProvisioned] = []
    private var items: [ItemProvisioned] = []

    /// What went wrong, in sentences, the oldest first.
    public private(set) var notices: [String] = []

    /// A list without boxes.
    public init() {}

    /// The boxes, the oldest first.
    ///
    /// An item appears as soon as its box is known, whichever was announced first.
    public var rows: [Row] {
        boxes.map { box in
            Row(
                boxID: box.boxID,
                label: box.label,
                capacity: box.capacity,
                items: items.filter { $0.boxID == box.boxID }.map { Item(itemID: $0.itemID, title: $0.title) }
            )
        }
    }

    // A second announcement changes nothing. It comes if a worker dies before its acknowledgement of the request has
    // arrived.

    mutating func apply(_ event: BoxProvisioned) {
        guard !boxes.contains(where: { $0.boxID == event.boxID }) else { return }
        boxes.append(event)
    }

    mutating func apply(_ event: ItemProvisioned) {
        guard !items.contains(where: { $0.itemID == event.itemID }) else { return }
        items.append(event)
    }

    mutating func apply(_ event: ItemMoved) {
        guard let index = items.firstIndex(where: { $0.itemID == event.itemID }) else { return }
        items[index] = ItemProvisioned(itemID: event.itemID, boxID: event.to, title: items[index].title)
    }

    mutating func apply(_ event: ItemRemoved) {
        items.removeAll { $0.itemID == event.itemID }
    }

    mutating func apply(_ event: BoxRemoved) {
        boxes.removeAll { $0.boxID == event.boxID }
    }

    mutating func addNotice(_ notice: String) {
        notices.append(notice)
    }
}
