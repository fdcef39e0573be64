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
            The signal goes to the worker's process alone, not to what it has started. The supervisor does not know of
            it: a worker that ends by it has crashed, and is started again. To stop one, use `supervisor stop`. One that
            is stopped by SIGSTOP gives no sign of life, and is ended for that. The name of a pool stands for all its
            members.
            """,
        ],
        statuses: [
            (.success, ["sent; a line names the process"]),
            (.usage, ["the command line is wrong, or there is no such worker or signal"]),
            (.workerUnavailable, ["the worker has no process, or no supervisor answers at the control socket"]),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )

    static let expectedSignal = "a name such as HUP or SIGHUP, or its number"
}
