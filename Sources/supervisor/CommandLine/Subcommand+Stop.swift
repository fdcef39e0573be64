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
            A worker first finishes what it has, within its grace, and then stays down until `supervisor start` or
            `supervisor restart`. The events in its outbox wait for that; meanwhile no more events for it are taken. The
            name of a pool stands for all its members.
            Without a worker, the command does what SIGTERM does, and returns when the supervisor's process has ended: its
            journal and its socket are then free for another supervisor. A process that is still there 10 s after it has
            said goodbye, as its last lines are not read, is not waited for any longer. If a service manager has made
            the socket, the command returns at the goodbye. To escalate the stop, send SIGTERM.
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
