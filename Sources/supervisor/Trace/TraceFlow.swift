import DomainEvents

/// An arrow of a trace, from one span to a later one; both are some thread's.
struct TraceFlow: Hashable {
    enum Kind: String {
        /// From where an event was published to where it arrives.
        case event = "way of the event"
        /// From an event to one that its handler has published.
        case cause
    }

    let kind: Kind
    /// Positions in the trace.
    let from: Int
    let to: Int

    /// All arrows of a trace.
    ///
    /// A cause is where its handler ran in the process of its effect. Where that is no thread's span, as of an
    /// asynchronous handler, it is where the cause was published.
    static func all(in trace: RecordedTrace) -> [TraceFlow] {
        struct Place: Hashable {
            let process: RecordedTrace.Process
            let id: String
        }
        var published: [String: Int] = [:]
        var handled: [Place: Int] = [:]
        for (index, (process, span)) in trace.spans.enumerated() where span.thread != nil {
            switch span.stage {
            // Who has to wait for room publishes it again; the first time is the beginning.
            case .publish: if published[span.id] == nil { published[span.id] = index }
            // A later attempt is in another process, or behind a restart.
            case .handling: handled[Place(process: process, id: span.id)] = index
            case .outbox, .wire, .passing: continue
            }
        }
        var found: [TraceFlow] = []
        for (index, (process, span)) in trace.spans.enumerated() where span.thread != nil {
            switch span.stage {
            case .handling, .passing:
                if let from = published[span.id] { found.append(TraceFlow(kind: .event, from: from, to: index)) }
            case .publish:
                guard published[span.id] == index, let cause = span.cause,
                    let from = handled[Place(process: process, id: cause)] ?? published[cause]
                else { continue }
                found.append(TraceFlow(kind: .cause, from: from, to: index))
            case .outbox, .wire: continue
            }
        }
        // Clocks of other machines, or lies.
        return found.filter { trace.spans[$0.from].span.start <= trace.spans[$0.to].span.start }
    }
}
