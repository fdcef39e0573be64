import DomainEvents
import JSONText

/// The options of `supervisor request`.
struct RequestOptions: Sendable, Hashable {
    static let usualTime = "30s"

    /// The control socket's path on the command line; nil if it was not given.
    let control: String?
    let name: String
    /// The event's fields, or `-` for standard input.
    let json: String
    /// The name of the event that answers.
    let answer: String
    /// The name of the event that answers if the request has failed; nil if there is none.
    let failure: String?
    let limit: Duration
    let isJSON: Bool

    init(_ given: SubcommandArguments) throws(UsageError) {
        control = given.values["--control"]
        name = given.operands.first ?? ""
        json = given.operands.last ?? ""
        answer = given.values["--awaiting"] ?? ""
        failure = given.values["--or-failing"]
        limit = try given.timeLimit(usually: Self.usualTime)
        isJSON = given.flags.contains("--json")
        try Self.check(answer, of: "--awaiting")
        guard let failure else { return }
        try Self.check(failure, of: "--or-failing")
        guard !failure.hasBytes(of: answer) else {
            throw UsageError(
                description: "found \(ShownValue.text(failure)) after --or-failing and --awaiting, expected two names",
                topic: .request
            )
        }
    }

    private static func check(_ name: String, of option: String) throws(UsageError) {
        guard name.utf8.count <= EventName.maximumBytes, name != EventName.everything.text else {
            throw UsageError(
                description: """
                    found \(ShownValue.text(name)) (\(name.utf8.count) bytes) after \(option), expected an event's name of 1 to \
                    \(EventName.maximumBytes) bytes other than "*"
                    """,
                topic: .request
            )
        }
    }
}
