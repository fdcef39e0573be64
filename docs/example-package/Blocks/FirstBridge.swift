import DomainEvents
import EventBridge

struct BoxOrdered: DomainEvent { let label: String }
