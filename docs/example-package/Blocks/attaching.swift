import BridgeClient
import DomainEvents
import EventBridge

struct BoxOrdered: DomainEvent { let label: String }

// These declarations are compiled, and never run.
var publisher: EventPublisher { fatalError() }
var workers: [WorkerSpecification] { fatalError() }

func showBoxes(of publisher: EventPublisher) -> Subscription { fatalError() }
