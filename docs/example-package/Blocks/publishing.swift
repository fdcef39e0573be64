import Dispatch
import DomainEvents
import DomainEventsFoundation
import EventBridgeTesting
import Testing

struct BoxOrdered: DomainEvent { let label: String }
struct BoxProvisioningFailed: DomainEvent, Error { let label: String }

struct CanvasID: Codable, Sendable { let number: Int }

enum CanvasEvent: DomainEvent {
    case saved(CanvasID)
}

struct Warehouse {
    func remove(_ box: Int64) {}
}

struct Broker: Sendable {
    func send(_ text: String, _ isDone: @Sendable ((any Error)?) -> Void) {}
}

struct SavingContext {
    func save() throws {}
}

// These declarations are compiled, and never run.
var publisher: EventPublisher { fatalError() }
var event: BoxOrdered { fatalError() }
var box: Int64 { fatalError() }
var warehouse: Warehouse { fatalError() }
var broker: Broker { fatalError() }
var queue: DispatchQueue { fatalError() }
var context: SavingContext { fatalError() }
var subscriptions: Set<Subscription> {
    get { fatalError() }
    set { fatalError() }
}
@MainActor var pending: Set<String> = []

func show(_ event: some DomainEvent) {}
func report(_ error: any Error) {}
