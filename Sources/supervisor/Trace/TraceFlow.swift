import DomainEvents

/// An arrow of a trace, from one span to a later span; both are spans of threads.
struct TraceFlow: Hashable {
    enum Kind: String {
        /// From where an event was published to where it arrives.
        case event = "way of the event"
        /// From an event to an event that its handler has published.
        case cause
    }

    let kind: Kind
    /// The indices of the two spans in the trace.
    let from: Int
    let to: Int

    /// All arrows of a trace.
    ///
    /// An arrow from a cause begins where the cause's handler ran in the process that published the effect. The span of
    /// an asynchronous handler belongs to no thread; the arrow then begins where the cause was published.
    static func all(in trace: RecordedTrace) -> [TraceFlow] {
        struct Place: Hashable {
            let process: RecordedTrace.Process
            let id: String
        }
        var published: [String: Int] = [:]
        var handled: [Place: Int] = [:]
        for (index, (process, span)) in trace.spans.enumerated() where span.thread != nil {
            switch span.stage {
            // A publisher that has to wait for room publishes the event again; the first time is the beginning.
            case .publish: if published[span.id] == nil { published[span.id] = index }
            // A later attempt of the handling replaces an earlier one.
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
        // Arrows back in time come from the clocks of other machines, or from false reports.
        return found.filter { trace.spans[$0.from].span.start <= trace.spans[$0.to].span.start }
    }
}
