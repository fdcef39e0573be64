import DomainEvents

struct BoxShelved: DomainEvent {
    let boxID: Int64
    let shelf: String
}

struct BoxShipped: DomainEvent {
    let boxID: Int64
}

/// Comes by way of the table `outbox`.
struct BoxLabelled: DomainEvent {
    struct Content: Codable, Equatable {
        let boxID: Int64
        let text: String
    }

    /// The number of the event's row in the table.
    let row: Int64
    let content: Content
}
