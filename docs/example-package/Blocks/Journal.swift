import DomainEvents
import Journal

struct BoxProvisioned: DomainEvent {
    let boxID: Int64
    let label: String
}

// These declarations are compiled, and never run.
var publisher: EventPublisher { fatalError() }
