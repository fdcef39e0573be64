extension Subcommand {
    static let status = Subcommand(
        name: .status,
        summary: "show how the workers of a running supervisor are",
        purpose: "Shows how a running supervisor and its workers are.",
        options: [
            control,
            Option(
                name: "--only-bad",
                summary:
                    "leave out each worker that is ready or dormant, was not restarted by the supervisor within the",
                details: ["last ten minutes, and has refused no event and died of none since the supervisor's start"]
            ),
            Option(name: "--json", summary: "print one JSON object; with --watch one a line, each second"),
            Option(
                name: "--watch",
                summary: "show it again each second, in place on a terminal, until Ctrl-C; when the supervisor",
                details: ["goes away it says so, and goes on when there is one again"]
            ),
        ],
        details: [
            """
            The columns: events IN to a worker that are settled, and events OUT of it that have arrived, since the start of the
            supervisor or, with --watch, in a second; OUTBOX, the events that wait for it; P99, what 99 of 100
            timed events took at most until it had settled them; MEMORY, what of its process lies in RAM; REMARK, what there is to
            say of its state, what its box is without as the system lacks it, or how its last process ended. Where a
            terminal is too narrow for it, the remark stands in a line below.
            Below, who else is attached: process and user as the system noted them, and the name that a client gives itself.
            A terminal gets colours, unless NO_COLOR is set. Of a supervisor of another version is shown what it says when it
            refuses to be asked, without --watch.
            """
        ],
        statuses: [(.success, ["shown"])] + attachingStatuses + [(.output, ["standard output cannot be written"])]
    )
}
