import DomainEvents
import EventBridge
import EventBridgeTesting

struct BoxOrdered: DomainEvent { let number: Int }
struct BoxProvisioned: DomainEvent { let number: Int }

struct Shelf: Sendable {
    func put(_ box: Int) {}
}

// These declarations are compiled, and never run.
var shelf: Shelf { fatalError() }
var workers: [InMemoryWorker] { fatalError() }
var world: SimulationWorld { fatalError() }
