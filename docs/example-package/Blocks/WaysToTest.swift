import DomainEvents
import EventBridge
import EventBridgeTesting

struct BoxOrdered: DomainEvent { let label: String }
struct BoxProvisioned: DomainEvent { let boxID: Int64 }

func provideBoxes(on publisher: EventPublisher) -> [Subscription] { [] }
