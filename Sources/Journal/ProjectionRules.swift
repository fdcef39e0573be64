import DomainEvents

/// Applies the steps of a journal to a projection's state, for one reader.
struct ProjectionRules<State: Projection> {
    let names: Set<EventName>
    private var rules: [EventName: [ProjectedEvent<State>.Rule]] = [:]

    init() {
        let events = State.events
        names = events.reduce(into: []) { $0.formUnion($1.names) }
        for event in events {
            let rule = event.makeRule()
            for name in event.names { rules[name, default: []].append(rule) }
        }
    }

    /// - Parameter payloads: those of the step's portion.
    func apply(_ step: StoredStep, _ payloads: [UInt8], to state: inout State) {
        switch step {
        case .gap(let gap): state.eventsAreMissing(gap)
        case .record(let record):
            for rule in rules[EventName(record.name)] ?? [] {
                if let gap = rule(&state, record, payloads) { state.eventsAreMissing(gap) }
            }
        }
    }
}
