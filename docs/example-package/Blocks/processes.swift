import DomainEvents
import EventBridge

struct RenderRequested: DomainEvent {}
