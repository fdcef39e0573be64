extension Subcommand {
    static let signal = Subcommand(
        name: .signal,
        summary: "send a signal to a worker of a running supervisor",
        purpose: "Sends a signal to the process of a worker, and says which process that is.",
        operands: [
            worker,
            Operand(placeholder: "SIGNAL", noun: "signal", expected: expectedSignal, values: .text),
        ],
        options: [control],
        details: [
            """
            For example:
              supervisor signal store HUP
            """,
            """
            The signal goes to the worker's process alone, not to the processes that it has started. To the supervisor, a
            worker that a signal ends has crashed, so it is started again; to stop a worker, use `supervisor stop`. A
            worker that SIGSTOP stops gives no sign of life, and the supervisor ends it for that. The name of a pool
            stands for all its members.
            """,
        ],
        statuses: [
            (.success, ["sent; a line names the process"]),
            (.usage, ["the command line is wrong, or there is no such worker or signal"]),
            (.workerUnavailable, ["the worker has no process, or no supervisor answers at the control socket"]),
            (.output, ["standard output cannot be written; the signal was sent"]),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )

    static let expectedSignal = "a name such as HUP or SIGHUP, or its number"
}
