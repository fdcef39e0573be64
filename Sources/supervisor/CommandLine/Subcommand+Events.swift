extension Subcommand {
    static let events = Subcommand(
        name: .events,
        summary: "tell which events pass in a running supervisor, and between whom",
        purpose: """
            Counts for a while which events pass in a running supervisor, and tells of each name who publishes and who wants it.
            """,
        options: [
            control,
            Option(
                name: "--for",
                value: Option.Value(
                    placeholder: "TIME",
                    expected:
                        "a duration such as 10s or 500ms, from \(TraceOptions.shortest) to \(TraceOptions.longest)",
                    values: .text
                ),
                summary: "how long; \(EventsOptions.usualTime) if it is left out. Ctrl-C ends it before that"
            ),
            Option(name: "--json", summary: "print one JSON object a line for each name"),
        ],
        details: [
            """
            PUBLISHED BY names the publishers that were seen, and the workers whose `publishes` lists the name; `input` is
            the supervisor itself. WANTED BY names the workers, pools and clients that want the event, and `host`; `-` stands
            for none. FIELDS are those of the event that came last. Reports of the bridge about itself are left out.
            """,
            """
            No publisher waits for the count. Events that come faster than they are read are counted without their bytes,
            and a line says how many.
            """,
        ],
        statuses: [
            (.success, ["told"]),
            (.usage, ["the command line is wrong"]),
            (.workerUnavailable, ["no supervisor answers at the control socket, or it went away meanwhile"]),
            (.output, ["standard output cannot be written"]),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )
}
