import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents

/// What became of an event at the subscribers of this process.
enum LocalOutcome {
    case handled(handlers: Int)
    case unwanted
    case pending
    /// - Parameter thrown: the errors of the handlers; nil if no handler could get the event.
    case refused(Refusal.Reason, text: String, thrown: ThrownError? = nil)

    init(_ outcome: IncomingOutcome) {
        switch outcome {
        case .handled(let handlers): self = .handled(handlers: handlers)
        case .unwanted: self = .unwanted
        case .pending: self = .pending
        case .failed(let thrown): self = .refused(.handlerFailed, text: thrown.description, thrown: thrown)
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
    /// Calls the inline handlers with the event in hand, then with the events behind it. This goes on as long as the
    /// events go only to inline handlers and to a journal that records at once, and no handler is slow.
    ///
    /// - Parameter mayGoOn: called when the next event is in hand; returns whether that event may go the same way.
    /// - Returns: What became of the event in hand; nil if no subscriber has got it: the caller then delivers it.
    func receive(_ run: inout EventRun, mayGoOn: (BorrowedContext) -> Bool) -> LocalOutcome?

    /// Hands an event to all subscribers here, wherever their handlers run.
    ///
    /// - Parameter passOn: puts the event into other processes' outboxes, as a held event if `held` is not nil; returns
    ///   whether the subscribers here get it too. The receiver calls this once, whatever becomes of the event here.
    func deliver(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        strand: (any InlineStrand)?,
        passOn: (_ held: inout HeldEvents?) -> Bool,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> LocalOutcome
}

extension UnreadablePayload {
    /// What becomes of an event that does not get to the subscribers here.
    fileprivate var outcome: LocalOutcome { .refused(reason, text: text) }
}

/// The receiver of one channel's events; made in advance, so that an incoming event costs no look-up of its type.
final class ChannelReceiver<Event: DomainEvent>: EventReceiver, @unchecked Sendable {
    // Sendable: constant.
    private let channel: EventChannel<Event>
    private let coder: PayloadCoder<Event>
    // Unmanaged: only the router calls the receiver, and the router holds the publisher for good. Counting references
    // to the publisher is slow, because some of them are weak.
    private let publisher: Unmanaged<EventPublisher>

    init(channel: EventChannel<Event>, coder: PayloadCoder<Event>, publisher: EventPublisher) {
        self.channel = channel
        self.coder = coder
        self.publisher = .passUnretained(publisher)
    }

    func receive(_ run: inout EventRun, mayGoOn: (BorrowedContext) -> Bool) -> LocalOutcome? {
        guard let subscribers = channel.runSubscribers() else { return nil }
        let strand = run.strand
        return publisher._withUnsafeGuaranteedRef { publisher in
            PayloadScratch.current._withUnsafeGuaranteedRef { scratch in
                DeliveryThread.unmanaged._withUnsafeGuaranteedRef { thread in
                    // The general way restores an outer delivery's state.
                    if thread.isDelivering { return nil }
                    while strand.isFree {
                        let event: Event
                        do throws(UnreadablePayload) {
                            event = try coder.receive(run.payload, named: channel.name, with: scratch.decoder)
                        } catch {
                            return error.outcome
                        }
                        // Once the strand is entered, another thread may read on, and could record later events first.
                        guard subscribers.recordInRun(run.payload, run.context) else { return nil }
                        let isEntered = strand.enter()
                        assert(isEntered, "a strand that is free stays free until this thread enters it")
                        let failure = withUnsafePointer(to: run.context) { context in
                            thread.beginAwaited(context)
                            channel.call(subscribers, event, on: thread, from: publisher)
                            return thread.endAwaited()
                        }
                        strand.leave()
                        if let failure { return LocalOutcome(.failed(failure)) }
                        guard run.handledTakesNext() else { return .handled(handlers: subscribers.handlers) }
                        guard mayGoOn(run.context), channel.areCurrent(subscribers) else { return nil }
                    }
                    return nil
                }
            }
        }
    }

    func deliver(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        strand: (any InlineStrand)?,
        passOn: (_ held: inout HeldEvents?) -> Bool,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> LocalOutcome {
        publisher._withUnsafeGuaranteedRef { publisher in
            do throws(UnreadablePayload) {
                let outcome = try channel.deliverIncoming(
                    payload: payload,
                    { () throws(UnreadablePayload) in
                        let scratch = PayloadScratch.current.takeUnretainedValue()
                        return try coder.receive(payload, named: channel.name, with: scratch.decoder)
                    },
                    context: context,
                    from: publisher,
                    strand: strand,
                    passOn: passOn,
                    completion: completion
                )
                return LocalOutcome(outcome)
            } catch {
                return error.outcome
            }
        }
    }
}
