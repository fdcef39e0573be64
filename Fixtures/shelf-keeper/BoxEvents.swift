import DomainEvents

struct BoxShelved: DomainEvent {
    let boxID: Int64
    let shelf: String
}

struct BoxShipped: DomainEvent {
    let boxID: Int64
}

/// An event that waits in the table `outbox` before it is published.
struct BoxLabelled: DomainEvent {
    struct Content: Codable, Equatable {
        let boxID: Int64
        let text: String
    }

    /// The number of the event's row in the table.
    let row: Int64
    let content: Content
}
