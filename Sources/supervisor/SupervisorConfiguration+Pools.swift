import DomainEvents
import EventBridge
import JSONText

/// How a configuration says that many workers share the events of one specification: a count, or how the members are chosen as well.
extension SupervisorConfiguration {
    private enum Word: String, CaseIterable {
        case anyMember = "any-member"
        case everyMember = "every-member"

        var key: PoolKey {
            switch self {
            case .anyMember: .anyMember
            case .everyMember: .everyMember
            }
        }
    }

    /// Each member is a process.
    private static let poolMembers = 1...256

    /// - Parameter worker: as far as it has been read: its name and what it subscribes to.
    static func pool(_ value: ConfigurationValue, of worker: Worker) -> WorkerPool? {
        guard case .object = value.node.value else {
            return value.integer(in: poolMembers).map { checked(WorkerPool($0), value, worker) }
        }
        guard let object = value.object(keys: ["members", "keys"]) else { return nil }
        let members = object.required("members", expected: "how many workers the pool has")?.integer(in: poolMembers)
        let keys = object.optional("keys").flatMap { poolKeys($0, of: worker) } ?? [:]
        return members.map { checked(WorkerPool($0, keys: keys), value, worker) }
    }

    private static func checked(_ pool: WorkerPool, _ value: ConfigurationValue, _ worker: Worker) -> WorkerPool {
        let last = "\(worker.name).\(pool.members)"
        if last.utf8.count > 64 {
            value.report(
                "the last member's name would be \(ShownValue.text(last)), expected no more than 64 characters"
            )
        }
        return pool
    }

    private static func poolKeys(_ value: ConfigurationValue, of worker: Worker) -> [String: PoolKey]? {
        let example = "{\"RenderRequested\": {\"field\": \"documentID\"}, \"ThemeChanged\": \"every-member\"}"
        guard let members = value.members(of: "event names, such as \(example)") else { return nil }
        var keys: [String: PoolKey] = [:]
        for (name, value) in members {
            guard name == "*" || worker.subscribes.contains(name) || worker.subscribes.contains("*") else {
                value.report(
                    "found a key for \(ShownValue.text(name)), expected one of the events that the worker subscribes to, or \"*\""
                )
                continue
            }
            keys[name] = poolKey(value)
        }
        return keys
    }

    private static func poolKey(_ value: ConfigurationValue) -> PoolKey? {
        if case .object = value.node.value {
            return value.object(keys: ["field"])?
                .required("field", expected: "the name of a field of the event")?
                .nonEmptyString(example: "documentID")
                .map { .field($0) }
        }
        return value.choice(Word.self)?.key
    }

    /// Members of pools have names, too.
    static func reportNames(takenByPoolsOf workers: [Worker], _ lines: [String: Int], in value: ConfigurationValue) {
        for worker in workers {
            guard let pool = worker.pool else { continue }
            for number in 1...pool.members {
                let member = "\(worker.name).\(number)"
                guard let line = lines[member] else { continue }
                value.report(
                    "a member of the pool \"\(worker.name)\" has the name of the worker \"\(member)\" at line \(line)"
                )
            }
        }
    }
}
