import DomainEvents

struct BoxShelved: DomainEvent {
    let boxID: Int64
    let shelf: String
}

struct BoxShipped: DomainEvent {
    let boxID: Int64
}
