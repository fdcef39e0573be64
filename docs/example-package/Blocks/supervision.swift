import BridgeWorker
import DomainEvents
import EventBridge

struct BoxOrdered: DomainEvent { let label: String }
struct ReportRequested: DomainEvent {}
struct IndexQueried: DomainEvent { let words: [String] }

/// An index that a worker loads while it starts.
struct Index: Sendable {
    func load(then done: @escaping @Sendable () -> Void) {}
    func answer(_ query: IndexQueried) {}
}

// These declarations are compiled, and never run.
var bridge: BridgeHost { fatalError() }
var index: Index { fatalError() }
var publisher: EventPublisher { fatalError() }
var specifications: [WorkerSpecification] { fatalError() }

func show(_ workers: [WorkerStatus]) {}
