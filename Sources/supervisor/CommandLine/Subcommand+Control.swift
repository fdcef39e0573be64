extension Subcommand {
    /// The option of each subcommand that speaks to a running supervisor.
    static let control = Option(
        name: "--control",
        value: Option.Value(placeholder: "PATH", expected: "the path of a socket", values: .file),
        summary: "the control socket of the supervisor; without it the one that \(ControlPath.variable) names,",
        details: ["or \(ControlPath.usual)"]
    )

    /// The option of each subcommand with a time limit for its answer.
    ///
    /// - Parameters:
    ///   - time: how long the subcommand waits without the option.
    ///   - summary: what the subcommand waits for, as the help says it.
    static func within(usually time: String, _ summary: String) -> Option {
        Option(
            name: "--within",
            value: Option.Value(
                placeholder: "TIME",
                expected: "a duration such as \"5s\" or \"100ms\"",
                values: .text
            ),
            summary: "\(summary); \(time) if it is left out"
        )
    }

    /// The operands of each subcommand that publishes an event, as ``EventArgument`` reads them.
    static let publication = [
        Operand(placeholder: "NAME", noun: "name", expected: "the name of an event", values: .names(.events)),
        Operand(
            placeholder: "JSON",
            noun: "JSON",
            expected: "an object with the event's fields, or - for standard input",
            values: .text
        ),
    ]

    /// The operand of each subcommand about a worker.
    static let worker = Operand(
        placeholder: "WORKER",
        noun: "worker",
        expected: "the name of a worker or a pool",
        values: .names(.workers)
    )

    /// The exit statuses of a subcommand that has to attach.
    static let attachingStatuses: [(status: ProgramStatus, lines: [String])] = [
        (.usage, ["the command line is wrong"]),
        (.workerUnavailable, ["no supervisor answers at the control socket"]),
        (.notPermitted, ["another user serves the control socket"]),
    ]
}
