import BridgeProtocol
import DomainEvents

/// What became of an event at the subscribers of this process.
enum LocalOutcome {
    case handled(handlers: Int)
    case unwanted
    case pending
    case refused(Refusal.Reason, text: String)

    /// Whether handlers were called, or were to be, and none is at it any more.
    var isOver: Bool {
        switch self {
        case .handled, .refused: true
        case .unwanted, .pending: false
        }
    }

    /// How many handlers have returned.
    var handlers: Int {
        if case .handled(let handlers) = self { handlers } else { 0 }
    }
}

/// Decodes the events of one name and hands them to the subscribers here.
protocol EventReceiver: Sendable {
    func receive(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        lane: (any InlineLane)?,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> LocalOutcome
}

/// The receiver of one event type; made once for each name, so that an incoming event costs no look-up of its type.
final class TypedReceiver<E: DomainEvent>: EventReceiver {
    private let channel: EventChannel<E>
    private let coder: PayloadCoder<E>
    // Unmanaged: the router that owns the receiver holds the publisher, and weak references to it make every counted one dear.
    private let publisher: Unmanaged<EventPublisher>

    init(channel: EventChannel<E>, coder: PayloadCoder<E>, publisher: EventPublisher) {
        self.channel = channel
        self.coder = coder
        self.publisher = .passUnretained(publisher)
    }

    func receive(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        lane: (any InlineLane)?,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> LocalOutcome {
        guard channel.hasSubscribers else { return .unwanted }
        let event: E
        do {
            event = try PayloadScratch.current.decode(payload, by: coder)
        } catch {
            return .refused(.undecodable, text: String(describing: error))
        }
        do {
            try event.validate()
        } catch {
            return .refused(.invalid, text: String(describing: error))
        }
        let outcome = publisher._withUnsafeGuaranteedRef { publisher in
            channel.deliverIncoming(event, context: context, from: publisher, lane: lane, completion: completion)
        }
        switch outcome {
        case .handled(let handlers): return .handled(handlers: handlers)
        case .unwanted: return .unwanted
        case .pending: return .pending
        case .failed(let error): return .refused(.handlerFailed, text: String(describing: error))
        }
    }
}
