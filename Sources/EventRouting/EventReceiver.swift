import BridgeProtocol
import CBOR
import DomainEvents

/// What became of an event at the subscribers of this process.
enum LocalOutcome {
    case handled(handlers: Int)
    case unwanted
    case pending
    case refused(Refusal.Reason, text: String)

    init(_ outcome: IncomingOutcome) {
        switch outcome {
        case .handled(let handlers): self = .handled(handlers: handlers)
        case .unwanted: self = .unwanted
        case .pending: self = .pending
        case .failed(let thrown): self = .refused(.handlerFailed, text: thrown.description)
        }
    }

    /// Whether the event was handled or refused, and no handler still works on it.
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
protocol EventReceiver: AnyObject, Sendable {
    /// - Parameters:
    ///   - kept: the subscribers that the previous event had.
    ///   - passOn: puts the event into other processes' outboxes, as a held event if `held` is not nil; returns whether
    ///     the subscribers here get it too. The receiver calls this once, whatever becomes of the event here.
    func receive(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        keeping kept: inout KeptSubscribers,
        strand: (any InlineStrand)?,
        passOn: (_ held: inout [any HeldEvent]?) -> Bool,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> LocalOutcome
}

/// The receiver of one event type; made in advance, so that an incoming event costs no look-up of its type.
final class TypedReceiver<E: DomainEvent>: EventReceiver {
    private let channel: EventChannel<E>
    private let coder: PayloadCoder<E>
    // Unmanaged: only the router calls the receiver, and the router holds the publisher for good. Counting references
    // to the publisher is slow, because some of them are weak.
    private let publisher: Unmanaged<EventPublisher>

    init(channel: EventChannel<E>, coder: PayloadCoder<E>, publisher: EventPublisher) {
        self.channel = channel
        self.coder = coder
        self.publisher = .passUnretained(publisher)
    }

    func receive(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        keeping kept: inout KeptSubscribers,
        strand: (any InlineStrand)?,
        passOn: (_ held: inout [any HeldEvent]?) -> Bool,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> LocalOutcome {
        publisher._withUnsafeGuaranteedRef { publisher in
            do {
                let outcome = try channel.deliverIncoming(
                    { try read(payload) },
                    context: context,
                    from: publisher,
                    keeping: &kept,
                    strand: strand,
                    passOn: passOn,
                    completion: completion
                )
                return LocalOutcome(outcome)
            } catch let invalid as Invalid {
                return .refused(.invalid, text: String(describing: invalid.reason))
            } catch {
                return .refused(.undecodable, text: CBORError.sentence(of: error))
            }
        }
    }

    /// The error of an event that its own type finds invalid.
    private struct Invalid: Error {
        let reason: any Error
    }

    private func read(_ payload: UnsafeRawBufferPointer) throws -> E {
        let event = try PayloadScratch.decode(payload, by: coder)
        do {
            try event.validate()
        } catch {
            throw Invalid(reason: error)
        }
        return event
    }
}

/// The receiver of events without a type, which hands their payload on as it is.
final class UntypedReceiver: EventReceiver {
    private let channel: EventChannel<UntypedEvent>
    // Unmanaged for the reason given in ``TypedReceiver``.
    private let publisher: Unmanaged<EventPublisher>

    init(channel: EventChannel<UntypedEvent>, publisher: EventPublisher) {
        self.channel = channel
        self.publisher = .passUnretained(publisher)
    }

    func receive(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        keeping kept: inout KeptSubscribers,
        strand: (any InlineStrand)?,
        passOn: (_ held: inout [any HeldEvent]?) -> Bool,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> LocalOutcome {
        publisher._withUnsafeGuaranteedRef { publisher in
            do {
                let outcome = try channel.deliverIncoming(
                    { try UntypedEvent.received(payload, name: channel.name) },
                    context: context,
                    from: publisher,
                    keeping: &kept,
                    strand: strand,
                    passOn: passOn,
                    completion: completion
                )
                return LocalOutcome(outcome)
            } catch {
                return .refused(.undecodable, text: CBORError.sentence(of: error))
            }
        }
    }
}
