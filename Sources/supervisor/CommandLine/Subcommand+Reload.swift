extension Subcommand {
    static let reload = Subcommand(
        name: .reload,
        summary: "have a running supervisor read its configuration again",
        purpose: """
            Has a running supervisor read its configuration again, as SIGHUP does, and returns when its workers go by it.
            """,
        options: [
            control, within(usually: ReloadOptions.usualTime, "how long it waits for the workers that go and come"),
        ],
        details: [
            """
            A line says which workers were started, stopped, replaced and left alone. A configuration with mistakes is
            not taken: each is named as `supervisor check` names it, and the workers go on as they were. The file is the
            one that the supervisor was started with; what is relative counts from there.
            """,
            """
            Requests that come while the configuration is read are answered together, by one that comes behind it. When
            the time is over nothing is taken back; nor does Ctrl-C take anything back.
            """,
        ],
        statuses: [
            (.success, ["it was taken, and all workers go by it"]),
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
