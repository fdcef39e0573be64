import BridgeWorker
import DomainEvents

func provideBoxes(on publisher: EventPublisher) -> [Subscription] { [] }
