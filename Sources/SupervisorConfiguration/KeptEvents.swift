import DomainEvents
import JSONText

/// The journal of a configuration: which events are kept, where, and how long.
package struct KeptEvents: Sendable, Hashable {
    /// What the events are safe against.
    package enum Durability: String, Sendable, Hashable, CaseIterable {
        /// The death of all processes.
        case process
        /// A power cut, too.
        case machine
    }

    /// What happens if there is no room for more events.
    package enum WhenFull: String, Sendable, Hashable, CaseIterable {
        case refuse
        case removeOldest = "remove-oldest"
    }

    /// The directory as written; a relative path counts from the configuration's directory.
    package var directory: String
    /// The names of the events.
    package var events: [String]
    package var durability = Durability.process
    /// With `machine`, the longest time until an event's synchronization with the disk begins if no caller waits.
    package var within: Duration = .milliseconds(10)
    /// How many bytes the files may take; nil for no limit.
    package var bytes: Int?
    /// How old events may become; nil for no limit.
    package var age: Duration?
    package var whenFull = WhenFull.refuse

    package init(directory: String, events: [String]) {
        self.directory = directory
        self.events = events
    }

    private static let greatestSize = 1 << 50
    /// Ten years.
    private static let greatestAge: Duration = .seconds(87_600 * 3_600)

    /// Reads the value of the key `journal`; nil if the value is no object.
    init?(_ value: ConfigurationValue) {
        let keys = ["directory", "events", "durability", "within", "bytes", "age", "whenFull"]
        guard let members = value.object(keys: keys) else { return nil }
        let directory = members.required("directory", expected: "a directory such as \"journal\"")?
            .systemString(example: "journal")
        let events = members.required("events", expected: "an array with at least one name of events")
            .flatMap(Self.names)
        self.init(directory: directory ?? "", events: events ?? [])
        durability = members.optional("durability")?.choice() ?? durability
        if let value = members.optional("within") {
            within = value.duration(in: SupervisorConfiguration.durations, example: "10ms") ?? within
            if durability != .machine {
                value.report("found a key that has no effect, expected \"durability\": \"machine\" beside it")
            }
        }
        bytes = members.optional("bytes")?.byteCount(in: 1 << 20...Self.greatestSize, example: "10GiB")
        age = members.optional("age")?.duration(in: .seconds(1)...Self.greatestAge, example: "720h")
        whenFull = members.optional("whenFull")?.choice() ?? whenFull
    }

    private static func names(_ value: ConfigurationValue) -> [String]? {
        guard let elements = value.elements(of: "strings such as [\"BoxOrdered\"]") else { return nil }
        if elements.isEmpty { value.report("found an empty array, expected at least one name of events") }
        return value.uniqueNames(example: "BoxOrdered") { EventName.mistake(in: $0) }
    }
}
