import JSONText

/// The options of `supervisor events`.
struct EventsOptions: Sendable, Hashable {
    static let usualTime = "5s"

    /// The control socket's path on the command line; nil if it was not given.
    let control: String?
    let duration: Duration
    let isJSON: Bool

    init(_ given: SubcommandArguments) throws(UsageError) {
        control = given.values["--control"]
        duration = try given.duration("--for", usually: Self.usualTime)
        isJSON = given.flags.contains("--json")
        let bounds = [TraceOptions.shortest, TraceOptions.longest].compactMap(DurationText.duration)
        guard bounds[0] <= duration, duration <= bounds[1] else {
            throw UsageError(
                description: """
                    found \(ShownValue.text(given.values["--for"] ?? "")) after --for, expected \(TraceOptions.shortest) to \
                    \(TraceOptions.longest)
                    """,
                topic: .events
            )
        }
    }
}
