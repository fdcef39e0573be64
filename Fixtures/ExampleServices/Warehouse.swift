import ExampleDomain

/// The boxes and their items: the decisions of provisioning, as a plain value without files, threads or publishers.
struct Warehouse: Codable, Equatable, Sendable {
    struct Item: Codable, Equatable, Sendable {
        let id: ItemID
        let title: String
    }

    struct Box: Codable, Equatable, Sendable {
        let id: BoxID
        let label: String
        let capacity: Int
        /// In the order in which they came.
        var items: [Item] = []

        var hasRoom: Bool { items.count < capacity }
        var room: Int { capacity - items.count }
    }

    static let capacities = [5, 10, 20]

    /// In the order in which they were made.
    private(set) var boxes: [Box] = []

    // MARK: - Requests

    mutating func order(_ request: BoxOrdered) -> [ProvisioningOutcome] {
        func failed(_ reason: String) -> [ProvisioningOutcome] {
            [.boxProvisioningFailed(.init(label: request.label, capacity: request.capacity, reason: reason))]
        }
        guard Self.capacities.contains(request.capacity) else {
            return failed("a box holds 5, 10 or 20 items; \(request.capacity) was ordered")
        }
        if let wanted = request.boxID {
            guard wanted.rawValue > 0 else { return failed("a box's id is a positive number; \(wanted) was ordered") }
            guard !isTaken(wanted) else { return failed("the id \(wanted) is taken by another box") }
        }
        let box = Box(id: request.boxID ?? freeBoxID(), label: request.label, capacity: request.capacity)
        boxes.append(box)
        return [.boxProvisioned(.init(boxID: box.id, label: box.label, capacity: box.capacity))]
    }

    mutating func receive(_ request: ItemReceived) -> [ProvisioningOutcome] {
        func failed(_ reason: String) -> [ProvisioningOutcome] {
            [.itemDistributionFailed(.init(title: request.title, reason: reason))]
        }
        if let wanted = request.itemID {
            guard wanted.rawValue > 0 else { return failed("an item's id is a positive number; \(wanted) was given") }
            guard !isTaken(wanted) else { return failed("the id \(wanted) is taken by another item") }
        }
        guard let index = emptiestBox() else {
            return failed(boxes.isEmpty ? "there is no box" : "all boxes are full, \(boxes.count) of them")
        }
        let item = Item(id: request.itemID ?? freeItemID(), title: request.title)
        boxes[index].items.append(item)
        return [.itemProvisioned(.init(itemID: item.id, boxID: boxes[index].id, title: item.title))]
    }

    mutating func remove(_ request: BoxRemovalRequested) -> [ProvisioningOutcome] {
        guard let index = boxes.firstIndex(where: { $0.id == request.boxID }) else {
            return [.boxRemovalFailed(.init(boxID: request.boxID, reason: "there is no such box"))]
        }
        let items = boxes[index].items
        let room = boxes.reduce(0) { $0 + ($1.id == request.boxID ? 0 : $1.room) }
        guard items.count <= room else {
            let reason = "its \(items.count) items do not fit into the other boxes, which have room for \(room)"
            return [
                .boxItemsRedistributionFailed(.init(boxID: request.boxID, reason: reason)),
                .boxRemovalFailed(.init(boxID: request.boxID, reason: reason)),
            ]
        }
        boxes.remove(at: index)
        var outcomes: [ProvisioningOutcome] = []
        for item in items {
            guard let target = emptiestBox() else { break }
            boxes[target].items.append(item)
            outcomes.append(.itemMoved(.init(itemID: item.id, from: request.boxID, to: boxes[target].id)))
        }
        return outcomes + [.boxRemoved(.init(boxID: request.boxID))]
    }

    mutating func remove(_ request: ItemRemovalRequested) -> [ProvisioningOutcome] {
        func failed(_ reason: String) -> [ProvisioningOutcome] {
            [.itemRemovalFailed(.init(itemID: request.itemID, boxID: request.boxID, reason: reason))]
        }
        guard let box = boxes.firstIndex(where: { $0.id == request.boxID }) else {
            return failed("there is no box \(request.boxID)")
        }
        guard let item = boxes[box].items.firstIndex(where: { $0.id == request.itemID }) else {
            return failed("it does not lie in box \(request.boxID)")
        }
        boxes[box].items.remove(at: item)
        return [.itemRemoved(.init(itemID: request.itemID, boxID: request.boxID))]
    }

    // MARK: - Choosing

    /// The box that has room and the fewest items; if there are several, the box that was made first.
    private func emptiestBox() -> Int? {
        boxes.indices.filter { boxes[$0].hasRoom }.min { boxes[$0].items.count < boxes[$1].items.count }
    }

    private func freeBoxID() -> BoxID {
        while true {
            let id = BoxID(.random(in: 1 ... .max))
            if !isTaken(id) { return id }
        }
    }

    private func freeItemID() -> ItemID {
        while true {
            let id = ItemID(.random(in: 1 ... .max))
            if !isTaken(id) { return id }
        }
    }

    private func isTaken(_ id: BoxID) -> Bool {
        boxes.contains { $0.id == id }
    }

    private func isTaken(_ id: ItemID) -> Bool {
        boxes.contains { box in box.items.contains { $0.id == id } }
    }

    // MARK: - Loading

    /// What is wrong with boxes that were read from a file; nil if nothing is.
    var inconsistency: String? {
        for box in boxes {
            guard box.id.rawValue > 0 else { return "box \(box.id) has an id that is not positive" }
            guard Self.capacities.contains(box.capacity) else {
                return "box \(box.id) has a capacity of \(box.capacity)"
            }
            guard box.items.count <= box.capacity else {
                return "box \(box.id) holds \(box.items.count) items and has a capacity of \(box.capacity)"
            }
        }
        guard Set(boxes.map(\.id)).count == boxes.count else { return "two boxes have the same id" }
        let items = boxes.flatMap(\.items)
        guard items.allSatisfy({ $0.id.rawValue > 0 }) else { return "an item has an id that is not positive" }
        guard Set(items.map(\.id)).count == items.count else { return "two items have the same id" }
        return nil
    }
}
