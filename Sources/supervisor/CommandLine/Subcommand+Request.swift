extension Subcommand {
    static let request = Subcommand(
        name: .request,
        summary: "publish an event in a running supervisor, and print its answer",
        purpose: "Publishes an event in a running supervisor, waits for the event that it causes, and prints that.",
        operands: publication,
        options: [
            control,
            Option(
                name: "--awaiting",
                value: event,
                summary: "the event that is the answer",
                isRequired: true
            ),
            Option(
                name: "--or-failing",
                value: event,
                summary: "the event that is the answer if the request has failed"
            ),
            within(usually: RequestOptions.usualTime, "how long it waits for the answer"),
            Option(name: "--json", summary: "print the answer as a CloudEvents object"),
        ],
        details: [
            """
            For example:
              supervisor request BoxOrdered '{"label": "Books", "capacity": 5}' --awaiting BoxProvisioned --or-failing BoxFailed
            """,
            """
            The answer is the first event of these names that the published event has caused, through any number of steps.
            A handler causes the events that it publishes, and so does code that publishes with the handled event as cause.
            When the time is over, the event is not taken back, and a sentence says which workers have handled it.
            """,
        ],
        statuses: [
            (.success, ["answered; the answer is on standard output"]),
            (.failingAnswer, ["answered by the event of --or-failing, which is on standard output"]),
            (.usage, ["the command line or an event's name is wrong"]),
            (.badInput, ["the JSON is wrong, or a worker refuses the event"]),
            (.noInput, ["standard input cannot be read"]),
            (
                .workerUnavailable,
                ["no process wants the event, a worker that wants it was given up, or no supervisor answers"]
            ),
            (.system, ["the system refused a resource that the command needs"]),
            (.output, ["standard output cannot be written"]),
            (.unhandledEvents, ["not answered in time, no room for the event, or given up after crashes over it"]),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )

    private static let event = Option.Value(
        placeholder: "NAME",
        expected: "the name of an event",
        values: .names(.events)
    )
}
