/// What is known about an event when it is published, in the smallest form.
///
/// Nearly every event is published outside handlers and delivered by its own publisher: then the event's number and
/// time are enough. So no thread counts references to the publisher's source, an object that all threads share.
enum EventStamp {
    /// The event has no cause, and its own publisher's subscribers get it.
    case fresh(number: UInt64, nanosecondsSinceEpoch: UInt64)
    case full(EventContext)
    /// The event lies in outboxes, and is owed to their receivers; only for a journal.
    case owed(EventContext, to: [OwedReceiver])

    /// - Parameter source: the publisher's source.
    func context(of source: EventSource) -> EventContext {
        switch self {
        case .fresh(let number, let time):
            EventContext(id: EventID(source: source, number: number), nanosecondsSinceEpoch: time)
        case .full(let context), .owed(let context, _): context
        }
    }

    /// Lends the context to `body`; a fresh event's context is not made for that.
    func withBorrowed<R, Failure: Error>(
        of source: EventSource,
        _ body: (BorrowedContext) throws(Failure) -> R
    ) throws(Failure) -> R {
        switch self {
        case .fresh(let number, let time):
            try body(BorrowedContext(source: .passUnretained(source), number: number, nanosecondsSinceEpoch: time))
        case .full(let context), .owed(let context, _): try context.withBorrowed(body)
        }
    }

    /// The context; nil for a fresh event, whose context has no cause.
    var known: EventContext? {
        switch self {
        case .fresh: nil
        case .full(let context), .owed(let context, _): context
        }
    }

    /// The receivers that the event is owed to.
    var owed: [OwedReceiver] { if case .owed(_, let receivers) = self { receivers } else { [] } }
}
