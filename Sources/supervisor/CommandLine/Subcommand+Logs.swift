extension Subcommand {
    static let logs = Subcommand(
        name: .logs,
        summary: "show what a worker of a running supervisor has printed last",
        purpose: "Shows the last lines that a worker has printed on standard output and standard error, oldest first.",
        operands: [worker],
        options: [
            control,
            Option(
                name: "--follow",
                summary: "go on with what it prints from now on, until Ctrl-C, or until nothing reads it any more"
            ),
        ],
        details: [
            """
            The supervisor keeps the last 1,000 lines of each worker, over all of its starts, and at most 64 KiB of them.
            Each line is shown with its time; a line of more than 4 KiB is cut, and ends in an ellipsis. The name of a pool
            stands for all its members: their lines come in the order in which they were printed, each with its member's name.
            """,
            """
            No worker waits for the reader. If it reads too slowly, lines are left out, and a line says so in their place.
            """,
        ],
        statuses: [
            (.success, ["shown; or ended by SIGINT or SIGTERM, or because nothing read the output any more"]),
            (.usage, ["the command line is wrong, or there is no such worker"]),
            (.workerUnavailable, ["no supervisor answers at the control socket, or it went away"]),
            (.output, ["standard output cannot be written"]),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )
}
