import JSONText

/// The options of `supervisor trace`.
struct TraceOptions: Sendable, Hashable {
    enum Output: Sendable, Hashable {
        case standardOutput
        case file(String)
    }

    /// The control socket's path on the command line; nil if it was not given.
    let control: String?
    let duration: Duration
    let output: Output

    /// The bounds of `--for`, as the user types them.
    static let shortest = "1ms"
    static let longest = "1h"

    init(_ given: SubcommandArguments) throws(UsageError) {
        control = given.values["--control"]
        let file = given.values["--output"] ?? "-"
        output = file == "-" ? .standardOutput : .file(file)
        let text = given.values["--for"] ?? Self.shortest
        let bounds = [Self.shortest, Self.longest].compactMap(DurationText.duration)
        let found = "found \(ShownValue.text(text)) after --for, expected"
        switch DurationText.parse(text) {
        case .expected(let what): throw UsageError(description: "\(found) \(what)", topic: .trace)
        case .duration(let duration):
            guard bounds[0] <= duration, duration <= bounds[1] else {
                throw UsageError(description: "\(found) \(Self.shortest) to \(Self.longest)", topic: .trace)
            }
            self.duration = duration
        }
    }
}
