extension Subcommand {
    static let tail = Subcommand(
        name: .tail,
        summary: "follow the events that pass in a running supervisor",
        purpose:
            "Prints each event that passes in a running supervisor, as supervisor run does, until it is told to end.",
        options: [
            control,
            Option(
                name: "--events",
                value: Option.Value(
                    placeholder: "NAME,NAME",
                    expected: "names of events with commas between them",
                    values: .names(.events)
                ),
                summary: "only these; the supervisor sends no others. Reports of the bridge about itself, such as",
                details: [
                    "WorkerReady and WorkerExited, come if they are named; * stands for all other events:",
                    "--events '*,WorkerExited'",
                ]
            ),
            Option(
                name: "--from",
                value: Option.Value(placeholder: "WORKER", expected: "the name of a worker", values: .names(.workers)),
                summary: "only what this worker has published; `input` for what comes from the supervisor itself"
            ),
            Option(
                name: "--format",
                value: Option.Value(
                    placeholder: "text|json",
                    expected: "text or json",
                    values: .choice(RunOptions.Format.allCases.map(\.rawValue))
                ),
                summary: "print events as aligned text, or each as a CloudEvents object in a line of its own"
            ),
        ],
        details: [
            """
            No publisher waits for a tail. If it reads too slowly, events are left out, and a line in their place says how
            many. In JSON it is {"bridge": "gap", "type": "BoxOrdered", "count": 37, "reason": "dropped", "ranges": [...]}.
            """,
            """
            If the supervisor goes away, the command waits for it. Events that pass meanwhile are missing; a line says so
            (in JSON with the reason "away" and the count null), and standard error says so too.
            """,
        ],
        statuses: [
            (.success, ["ended by SIGINT or SIGTERM, or because nothing read the output any more"]),
            (.usage, ["the command line is wrong"]),
            (
                .workerUnavailable,
                ["no supervisor answers at the control socket, or it does not accept this client any more"]
            ),
            (.system, ["the system refused a resource that the command needs"]),
            (.output, ["events cannot be printed"]),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )
}
