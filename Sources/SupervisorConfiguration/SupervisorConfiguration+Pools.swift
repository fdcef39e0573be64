import DomainEvents
import JSONText

/// Reads how many workers share the events of one specification: a count, or an object with the count and with the
/// keys that choose a member.
extension SupervisorConfiguration {
    private enum Word: String, CaseIterable {
        case anyMember = "any-member"
        case everyMember = "every-member"

        var key: Worker.Pool.Key {
            switch self {
            case .anyMember: .anyMember
            case .everyMember: .everyMember
            }
        }
    }

    /// The bounds of a pool's size; each member is a process.
    private static let poolMembers = 1...256

    /// - Parameter worker: the pool's worker, whose name and subscriptions have been read already.
    static func pool(_ value: ConfigurationValue, of worker: Worker) -> Worker.Pool? {
        guard case .object = value.node.value else {
            return value.integer(in: poolMembers).map { checked(Worker.Pool(members: $0), value, worker) }
        }
        guard let object = value.object(keys: ["members", "keys"]) else { return nil }
        let members = object.required("members", expected: "how many workers the pool has")?.integer(in: poolMembers)
        let keys = object.optional("keys").flatMap { poolKeys($0, of: worker) } ?? [:]
        return members.map { checked(Worker.Pool(members: $0, keys: keys), value, worker) }
    }

    private static func checked(_ pool: Worker.Pool, _ value: ConfigurationValue, _ worker: Worker) -> Worker.Pool {
        let last = "\(worker.name).\(pool.members)"
        if last.utf8.count > 64 {
            value.report(
                "the last member's name would be \(ShownValue.text(last)), expected no more than 64 characters"
            )
        }
        return pool
    }

    private static func poolKeys(_ value: ConfigurationValue, of worker: Worker) -> [String: Worker.Pool.Key]? {
        let example = "{\"RenderRequested\": {\"field\": \"documentID\"}, \"ThemeChanged\": \"every-member\"}"
        guard let members = value.members(of: "event names, such as \(example)") else { return nil }
        let subscribed = EventName.set(worker.subscribes)
        let takesAll = subscribed.contains(.everything)
        var keys: [String: Worker.Pool.Key] = [:]
        for (name, value) in members {
            guard name == "*" || takesAll || subscribed.contains(EventName(name)) else {
                value.report(
                    "found a key for \(ShownValue.text(name)), expected one of the events that the worker subscribes to, or \"*\""
                )
                continue
            }
            keys[name] = poolKey(value)
        }
        return keys
    }

    private static func poolKey(_ value: ConfigurationValue) -> Worker.Pool.Key? {
        if case .object = value.node.value {
            return value.object(keys: ["field"])?
                .required("field", expected: "the name of a field of the event")?
                .nonEmptyString(example: "documentID")
                .map { .field($0) }
        }
        return value.choice(Word.self)?.key
    }

    /// Reports workers whose names are taken by members of pools.
    static func reportNames(takenByPoolsOf workers: [Worker], _ lines: [String: Int], in value: ConfigurationValue) {
        for worker in workers where worker.pool != nil {
            for member in worker.processNames {
                guard let line = lines[member] else { continue }
                value.report(
                    "a member of the pool \"\(worker.name)\" has the name of the worker \"\(member)\" at line \(line)"
                )
            }
        }
    }
}

extension SupervisorConfiguration.Worker {
    /// The names of the worker's processes: the worker's own name, or the names of its pool's members.
    package var processNames: [String] {
        guard let pool else { return [name] }
        return (0..<pool.members).map { "\(name).\($0 + 1)" }
    }
}
