extension Subcommand {
    static let start = Subcommand(
        name: .start,
        summary: "start a worker of a running supervisor that is down",
        purpose: "Starts a worker of a running supervisor that is down, and returns when it is ready.",
        operands: [worker],
        options: [control],
        details: [
            """
            A worker that was stopped or given up is started with its failures forgotten, and gets what waits for it.
            One that runs is left alone, and a line says so; `supervisor restart` starts it anew. The name of a pool
            stands for all its members. Ctrl-C ends the wait and takes nothing back.
            """
        ],
        statuses: [
            (.success, ["it is ready, or was before"]),
            (.usage, ["the command line is wrong, or there is no such worker"]),
            (
                .workerUnavailable,
                ["it was given up or stopped before it was ready, or no supervisor answers at the control socket"]
            ),
            (.output, ["it runs already, and standard output cannot be written"]),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )
}
