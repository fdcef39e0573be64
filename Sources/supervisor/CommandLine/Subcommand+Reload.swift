extension Subcommand {
    static let reload = Subcommand(
        name: .reload,
        summary: "have a running supervisor read its configuration again",
        purpose: """
            Has a running supervisor read its configuration again, as SIGHUP does, and returns when it applies to all workers.
            """,
        options: [
            control, within(usually: ReloadOptions.usualTime, "how long it waits for the workers that go and come"),
        ],
        details: [
            """
            A line says which workers were started, stopped, replaced and left alone. A configuration with mistakes is
            not taken: each mistake is named as `supervisor check` names it, and the workers go on as they were. The file
            is the one that the supervisor was started with, and relative paths count from the same directory as then.
            """,
            """
            Requests that come during a reload are answered together, by one more reload after it. Neither Ctrl-C nor
            the end of the time takes anything back.
            """,
        ],
        statuses: [
            (.success, ["the configuration was taken, and applies to all workers"]),
            (.usage, ["the command line is wrong"]),
            (.noInput, ["the configuration cannot be read"]),
            (
                .workerUnavailable,
                [
                    "it was taken, and a worker has not become ready or goes on as it was; no supervisor answers at the",
                    "control socket, it ended meanwhile, or the program there has no configuration to read",
                ]
            ),
            (.output, ["standard output cannot be written"]),
            (.unhandledEvents, ["not done in time, or not now: the supervisor is stopping"]),
            (.notPermitted, ["another user serves the control socket"]),
            (.configuration, ["it has mistakes, or changes what cannot change while the workers run"]),
        ]
    )
}
