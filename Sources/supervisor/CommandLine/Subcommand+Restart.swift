extension Subcommand {
    static let restart = Subcommand(
        name: .restart,
        summary: "start a worker of a running supervisor anew",
        purpose: "Starts a worker of a running supervisor anew, and returns when it is ready.",
        operands: [worker],
        options: [control],
        details: [
            """
            A worker that runs is stopped first, and finishes what it has. A worker that was given up or stopped is
            started: its failures are forgotten, and it gets the events that wait for it. The name of a pool stands for all
            its members.
            Ctrl-C ends the wait and takes nothing back.
            """
        ],
        statuses: [(.success, ["it is ready"]), (.usage, ["the command line is wrong, or there is no such worker"])]
            + attachingStatuses.filter { $0.status != .usage && $0.status != .workerUnavailable } + [
                (
                    .workerUnavailable,
                    ["it was given up or stopped before it was ready, or no supervisor answers at the control socket"]
                )
            ]
    )
}
