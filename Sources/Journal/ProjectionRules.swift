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

    func apply(_ steps: StoredSteps, to state: inout State) {
        var steps = steps
        // The records' bytes lie in `steps`.
        defer { withExtendedLifetime(steps) {} }
        while let step = steps.next() {
            switch step {
            case .gap(let gap): state.eventsAreMissing(gap)
            case .record(let record):
                let context = steps.context(of: record)
                for rule in rules[EventName(steps.name(of: record))] ?? [] {
                    if let gap = rule(&state, record, context) { state.eventsAreMissing(gap) }
                }
            }
        }
    }
}
