/// Events that a consumer has taken out of its backlog, to handle one after the other without the lock.
struct DeliveryBatch {
    let first: DeliveryPlace?
    let count: Int
    private var next: DeliveryPlace?
    private var left: Int

    init(first: DeliveryPlace, count: Int) {
        self.first = first
        self.count = count
        next = first
        left = count
    }

    init() {
        first = nil
        count = 0
        left = 0
    }

    var isEmpty: Bool { left == 0 }

    mutating func takeNext() -> DeliveryPlace? {
        guard left > 0, let place = next else { return nil }
        left -= 1
        next = left > 0 ? place.pointee.next : nil
        return place
    }
}
