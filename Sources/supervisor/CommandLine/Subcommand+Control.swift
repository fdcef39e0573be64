extension Subcommand {
    /// Of each subcommand that speaks to a running supervisor.
    static let control = Option(
        name: "--control",
        value: Option.Value(placeholder: "PATH", expected: "the path of a socket", values: .file),
        summary: "the control socket of the supervisor; without it the one that \(ControlPath.variable) names,",
        details: ["or \(ControlPath.usual)"]
    )

    /// Of each subcommand about a worker.
    static let worker = Operand(
        placeholder: "WORKER",
        noun: "worker",
        expected: "the name of a worker or a pool",
        values: .text
    )

    /// The exit statuses that come of attaching.
    static let attachingStatuses: [(status: ProgramStatus, lines: [String])] = [
        (.usage, ["the command line is wrong"]),
        (.workerUnavailable, ["no supervisor answers at the control socket"]),
        (.notPermitted, ["another user serves the control socket"]),
    ]
}
