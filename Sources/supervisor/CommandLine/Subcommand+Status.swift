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
                    "leave out each worker that is ready or dormant, unless the supervisor has restarted it and it",
                details: ["has run for less than ten minutes, or it has refused an event or crashed too often over one"]
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
            The columns: IN, how many events for the worker are settled, and OUT, how many events from it have arrived, both
            since the start of the supervisor or, with --watch, in a second; OUTBOX, how many events wait for the worker; P99,
            the time within which it has settled 99 of 100 timed events; MEMORY, how much of its process lies in RAM; REMARK,
            a note on its state, the parts of its box that this system lacks, or how its last process ended. On a terminal
            that is too narrow, the remark stands in the line below.
            The second table has the attached clients: process and user as the system noted them, and the client's own name.
            A terminal gets colours, unless NO_COLOR is set. A supervisor of another version refuses the question. Without
            --watch, the report that comes with its refusal is shown.
            """
        ],
        statuses: [(.success, ["shown"])] + attachingStatuses + [(.output, ["standard output cannot be written"])]
    )
}
