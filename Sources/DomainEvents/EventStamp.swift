/// What is known about an event when it is published, in its smallest form.
///
/// Nearly every event is published outside handlers and delivered within its own publisher: number and time then say
/// all, and no thread counts references to the publisher's name, which all threads share.
enum EventStamp {
    /// Caused by nothing, and offered by the publisher whose subscribers get it.
    case fresh(number: UInt64, nanosecondsSinceEpoch: UInt64)
    case full(EventContext)

    /// - Parameter source: the publisher's.
    func context(of source: EventSource) -> EventContext {
        switch self {
        case .fresh(let number, let time):
            EventContext(id: EventID(source: source, number: number), nanosecondsSinceEpoch: time)
        case .full(let context): context
        }
    }
}
