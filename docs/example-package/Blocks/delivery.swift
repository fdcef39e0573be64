import DomainEvents
import EventBridge

struct CanvasSaveRequested: DomainEvent {}
struct CursorMoved: DomainEvent { let window: Int }

// The model of the example worker, as far as the page needs it; compiled, and never run.

struct Answer: Codable {}

struct Warehouse: Codable {
    mutating func apply(_ request: some DomainEvent) -> [Answer] { fatalError() }
}

struct HandledEvents: Codable {
    func outcomes(of id: EventID) -> [Answer]? { fatalError() }
    mutating func remember(_ answers: [Answer], of context: EventContext) { fatalError() }
}

struct Store {
    func load<Content>() throws -> Content { fatalError() }
    func save<Content>(_ content: Content) throws { fatalError() }
}

var store: Store { fatalError() }

func publish(_ answers: [Answer]) {}
