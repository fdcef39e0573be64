extension Subcommand {
    static let publish = Subcommand(
        name: .publish,
        summary: "publish an event in a running supervisor, and say what became of it",
        purpose:
            "Publishes an event in a running supervisor and waits until every worker that wants it has handled it.",
        operands: publication,
        options: [
            control,
            within(usually: PublishOptions.usualTime, "how long it waits for the workers"),
        ],
        details: [
            """
            For example:
              supervisor publish BoxOrdered '{"label": "Books", "capacity": 5}'
            """,
            """
            When the time is over, the event is not taken back: a worker that has not handled it yet may still do so.
            """,
        ],
        statuses: [
            (
                .success,
                ["every worker that wants the event has handled it; a line names the event's id and these workers"]
            ),
            (.usage, ["the command line or the event's name is wrong"]),
            (.badInput, ["the JSON is wrong, or a worker refuses the event"]),
            (.noInput, ["standard input cannot be read"]),
            (
                .workerUnavailable,
                ["no process wants the event, a worker that wants it was given up, or no supervisor answers"]
            ),
            (.system, ["the system refused a resource that the command needs"]),
            (.unhandledEvents, ["not handled in time, no room for it, or given up after crashes over it"]),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )
}
