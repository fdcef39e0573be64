import DomainEvents
import EventBridge

// Compiled, and never run.
var bridge: BridgeHost { fatalError() }
var publisher: EventPublisher { fatalError() }
