extension Subcommand {
    static let stop = Subcommand(
        name: .stop,
        summary: "stop a worker of a running supervisor, or the supervisor",
        purpose: """
            Stops a worker of a running supervisor, or the supervisor with all its workers, and returns when that is done.
            """,
        operands: [
            Operand(
                placeholder: "WORKER",
                noun: "worker",
                expected: "the name of a worker or a pool",
                values: .names(.workers),
                isOptional: true
            )
        ],
        options: [control],
        details: [
            """
            A worker finishes what it has first, as far as its grace goes, and then stays down until `supervisor restart`.
            What is in its outbox waits for that; events for it are not taken meanwhile. The name of a pool stands for all its
            members.
            Without a worker it does what SIGTERM does. To escalate that, send SIGTERM.
            Ctrl-C ends the wait and takes nothing back.
            """
        ],
        statuses: [(.success, ["it has stopped"]), (.usage, ["the command line is wrong, or there is no such worker"])]
            + attachingStatuses.filter { $0.status != .usage && $0.status != .workerUnavailable } + [
                (
                    .workerUnavailable,
                    ["no supervisor answers at the control socket, it ended meanwhile, or the worker was started again"]
                )
            ]
    )
}
