import JSONText
import Journal

/// The options of `supervisor journal`.
struct JournalOptions: Sendable, Hashable {
    enum Action: Sendable, Hashable {
        case list
        case show(after: UInt64, limit: UInt64?, event: String?, origin: String?)
        case verify
        case trim(before: UInt64)
        case salvage(into: String)
    }

    /// The word for an action on the command line.
    enum ActionName: String, CaseIterable {
        case list
        case show
        case verify
        case trim
        case salvage
    }

    static let expectedPosition = "the position of an event"
    static let expectedDirectory = "a directory that is not there yet"
    static let expectedCount = "a number of events"

    let directory: String
    var isJSON = false
    let action: Action

    init(directory: String, isJSON: Bool = false, _ action: Action) {
        self.directory = directory
        self.isJSON = isJSON
        self.action = action
    }

    init(_ given: SubcommandArguments) throws(UsageError) {
        directory = given.operands.last ?? ""
        isJSON = given.flags.contains("--json")
        let name = given.operands.first.flatMap(ActionName.init) ?? .list
        try Self.refuse(["--after", "--limit", "--event", "--from"], of: given, with: name, unless: .show)
        try Self.refuse(["--before"], of: given, with: name, unless: .trim)
        try Self.refuse(["--into"], of: given, with: name, unless: .salvage)
        switch name {
        case .list: action = .list
        case .verify: action = .verify
        case .show:
            action = .show(
                after: try Self.number("--after", of: given, Self.expectedPosition) ?? 0,
                limit: try Self.number("--limit", of: given, Self.expectedCount),
                event: given.values["--event"],
                origin: given.values["--from"]
            )
        case .trim:
            guard let position = try Self.number("--before", of: given, Self.expectedPosition) else {
                throw Self.error("found no --before with trim, expected \(Self.expectedPosition)")
            }
            action = .trim(before: position)
        case .salvage:
            guard let directory = given.values["--into"] else {
                throw Self.error("found no --into with salvage, expected \(Self.expectedDirectory)")
            }
            action = .salvage(into: directory)
        }
    }

    private static func refuse(
        _ options: [String],
        of given: SubcommandArguments,
        with name: ActionName,
        unless expected: ActionName
    ) throws(UsageError) {
        guard name != expected, let option = options.first(where: { given.values[$0] != nil }) else { return }
        throw error("found \(option) with \(name), expected it with \(expected) only")
    }

    private static func number(
        _ option: String,
        of given: SubcommandArguments,
        _ expected: String
    ) throws(UsageError) -> UInt64? {
        guard let text = given.values[option] else { return nil }
        guard let number = UInt64(text) else {
            throw error("found \(ShownValue.text(text)) after \(option), expected \(expected)")
        }
        return number
    }

    private static func error(_ description: String) -> UsageError {
        UsageError(description: description, topic: .journal)
    }
}
