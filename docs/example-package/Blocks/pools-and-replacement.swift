import DomainEvents
import EventBridge

struct RenderRequested: DomainEvent { let documentID: Int }
struct TileChanged: DomainEvent { let documentID: Int }
struct ThemeChanged: DomainEvent {}

// These declarations are compiled, and never run.
var bridge: BridgeHost { fatalError() }
var newer: WorkerSpecification { fatalError() }
