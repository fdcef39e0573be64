import JSONText
import Journal

/// The options of `supervisor journal`.
struct JournalOptions: Sendable, Hashable {
    enum Action: Sendable, Hashable {
        case list
        case show(JournalSelection)
        case replay(JournalSelection, ReplayTarget)
        case verify
        case trim(before: UInt64)
        case salvage(into: String)
    }

    /// The word for an action on the command line.
    enum ActionName: String, CaseIterable {
        case list
        case show
        case replay
        case verify
        case trim
        case salvage
    }

    static let expectedPosition = "the position of an event"
    static let expectedDirectory = "a directory that is not there yet"
    static let expectedCount = "a number of events"
    static let expectedTime = "a time such as 2026-11-26T06:00:00Z"
    static let expectedWorker = "the name of a worker"

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
        try Self.refuse(JournalSelection.options, of: given, with: name, unless: .show, .replay)
        try Self.refuse(ReplayTarget.options, of: given, with: name, unless: .replay)
        try Self.refuse(["--before"], of: given, with: name, unless: .trim)
        try Self.refuse(["--into"], of: given, with: name, unless: .salvage)
        switch name {
        case .list: action = .list
        case .verify: action = .verify
        case .show:
            action = .show(try JournalSelection(given))
        case .replay:
            action = .replay(try JournalSelection(given), try ReplayTarget(given))
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
        unless expected: ActionName...
    ) throws(UsageError) {
        guard !expected.contains(name), let option = options.first(where: { given.values[$0] != nil }) else { return }
        let names = expected.map(\.rawValue).joined(separator: " and ")
        throw error("found \(option) with \(name), expected it with \(names) only")
    }

    static func number(
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

    static func error(_ description: String) -> UsageError {
        UsageError(description: description, topic: .journal)
    }
}
