import BridgeClient
import DomainEvents

struct BoxOrdered: DomainEvent { let label: String }
