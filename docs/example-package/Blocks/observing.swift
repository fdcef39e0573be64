import DomainEvents
import EventBridge

// These declarations are compiled, and never run.
var bridge: BridgeHost { fatalError() }
var publisher: EventPublisher { fatalError() }
