import DomainEvents
import JSONText

/// Reads what becomes of events that find no room in an outbox: for each event name, a word or `{ latest: "field" }`.
extension SupervisorConfiguration {
    private enum Word: String, CaseIterable {
        case wait
        case fail
        case dropOldest = "drop-oldest"
        case dropNewest = "drop-newest"

        var policy: OverflowPolicy {
            switch self {
            case .wait: .wait
            case .fail: .fail
            case .dropOldest: .dropOldest
            case .dropNewest: .dropNewest
            }
        }
    }

    static func overflow(_ value: ConfigurationValue) -> [String: OverflowPolicy]? {
        let example = "{\"CursorMoved\": {\"latest\": \"window\"}, \"*\": \"drop-oldest\"}"
        guard let members = value.members(of: "event names, such as \(example)") else { return nil }
        var policies: [String: OverflowPolicy] = [:]
        for (name, value) in members {
            if let mistake = EventName.mistake(in: name, mayBeEverything: true) {
                value.report(mistake)
                continue
            }
            policies[name] = policy(value)
        }
        return policies
    }

    private static func policy(_ value: ConfigurationValue) -> OverflowPolicy? {
        if case .object = value.node.value {
            return value.object(keys: ["latest"])?
                .required("latest", expected: "the name of a field of the event")?
                .nonEmptyString(example: "window")
                .map { .latest(by: $0) }
        }
        return value.choice(Word.self)?.policy
    }
}
