extension Subcommand {
    static let trace = Subcommand(
        name: .trace,
        summary: "record the ways of events through all processes, for a timeline",
        purpose: """
            Records for a while where each event was in the processes of a running supervisor, and writes that as a trace that
            Perfetto (ui.perfetto.dev) and chrome://tracing show as a timeline.
            """,
        options: [
            control,
            Option(
                name: "--for",
                value: Option.Value(
                    placeholder: "DURATION",
                    expected:
                        "a duration such as 10s or 500ms, from \(TraceOptions.shortest) to \(TraceOptions.longest)",
                    values: .text
                ),
                summary: "how long; Ctrl-C ends it early and writes what there is, a second Ctrl-C writes nothing",
                isRequired: true
            ),
            Option(
                name: "--output",
                value: Option.Value(
                    placeholder: "FILE|-",
                    expected: "a file, or - for standard output",
                    values: .file
                ),
                summary: "where the trace goes; a file is there when it is complete, and not before",
                isRequired: true
            ),
        ],
        details: [
            """
            The timeline shows for each event and process: its publishing and handling, on the threads that did it; its
            passing through the supervisor; and for each receiver its time in the outbox, and on the wire until it is settled.
            Arrows lead from an event to the events that it caused. A worker that speaks lines reports nothing, so only the
            supervisor's view of it is there. No event waits for the recording: spans that are too many are left out, and a
            sentence says how many.
            """
        ],
        statuses: [
            (.success, ["the trace is written"]),
            (.usage, ["the command line is wrong"]),
            (
                .workerUnavailable,
                [
                    "no supervisor answers at the control socket, or it went away meanwhile: what came before that",
                    "is written",
                ]
            ),
            (.output, ["the trace cannot be written, or Ctrl-C came a second time or before the recording began"]),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )
}
