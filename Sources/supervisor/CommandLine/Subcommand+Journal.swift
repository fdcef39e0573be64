extension Subcommand {
    static let journal = Subcommand(
        name: .journal,
        summary: "list, show, replay, verify, trim or salvage the events that a journal keeps",
        purpose: """
            Reads the directory of a journal, whether or not a process writes it at the moment: which files there are, which
            events they hold, and whether all of it can be read. Only trim changes anything there, and only
            replay needs a running supervisor, which sends the events to one of its workers again.
            """,
        operands: [
            Operand(
                placeholder: "ACTION",
                noun: "action",
                expected: "list, show, replay, verify, trim or salvage",
                values: .choice(JournalOptions.ActionName.allCases.map(\.rawValue))
            ),
            Operand(placeholder: "DIRECTORY", noun: "directory", expected: "a journal's directory", values: .file),
        ],
        options: [
            Option(
                name: "--after",
                value: position,
                summary: "show or replay only events after this position; 0, the default, begins with the first event"
            ),
            Option(
                name: "--limit",
                value: Option.Value(placeholder: "COUNT", expected: JournalOptions.expectedCount, values: .text),
                summary: "show or replay at most this many events"
            ),
            Option(
                name: "--event",
                value: Option.Value(placeholder: "NAME", expected: "the name of an event", values: .text),
                summary: "show or replay only events of this name"
            ),
            Option(
                name: "--from",
                value: Option.Value(placeholder: "NAME", expected: "the name of a worker, or host", values: .text),
                summary: "show or replay only events that this process has published"
            ),
            Option(
                name: "--since",
                value: time,
                summary: "show or replay only events that were published at this time or later"
            ),
            Option(
                name: "--until",
                value: time,
                summary: "show or replay only events that were published before this time"
            ),
            Option(
                name: "--to",
                value: Option.Value(
                    placeholder: "WORKER",
                    expected: JournalOptions.expectedWorker,
                    values: .names(.workers)
                ),
                summary: "for replay: the worker that gets the events, and no other process does"
            ),
            Option(
                name: "--speed",
                value: Option.Value(placeholder: "TIMES", expected: ReplayPace.expected, values: .text),
                summary: "for replay: how many times as fast as the events were published, such as 1x, 10x or 0.5x;",
                details: ["as fast as the worker handles them if it is left out"]
            ),
            Option(
                name: control.name,
                value: control.value,
                summary: "for replay: the control socket of the supervisor; without it the one that",
                details: ["\(ControlPath.variable) names, or \(ControlPath.usual)"]
            ),
            Option(
                name: "--before",
                value: position,
                summary: "for trim: keep the event at this position and all behind it"
            ),
            Option(
                name: "--into",
                value: Option.Value(
                    placeholder: "DIRECTORY",
                    expected: JournalOptions.expectedDirectory,
                    values: .file
                ),
                summary: "for salvage: the directory of the new journal"
            ),
            Option(name: "--json", summary: "print one JSON object a line"),
        ],
        details: [
            """
            Actions:
              list      the files, oldest first: the positions of their events, when they were begun, and their bytes
              show      the events, one a line, with position, time, publisher, name and content
              replay    the same events, to the worker of --to, which can tell that they are a replay
              verify    reads everything, and tells every place where events are missing or bytes cannot be read
              trim      removes the oldest files, as far as all their events lie before the position of --before
              salvage   copies every event that can be read into a new journal, the directory of --into
            """,
            """
            A position counts the events of a journal from 1, and no event ever gets another one. In place of events that are
            missing, show prints what is known of them, and goes on. trim is refused while a process has the journal open; a
            journal trims itself by what its retention says.
            """,
            """
            replay sends what the journal had when it began. The events keep their order, identities, times and causes, wait
            behind the worker's other events, and are not recorded again. They are sent in batches, each when the worker has
            settled the one before; a worker that ends gets the rest after its restart. The command ends when all is settled,
            and ending it ends the replay. It names each event that the worker refuses, and says how many it does not want.
            """,
            """
            salvage is for a journal that cannot be opened any more. It reports what is missing as verify does. In the new
            journal the events keep their order, identities, times and causes, and get new positions, from 1 on. Everything
            that has saved a position of the old journal, such as a projection, must start again from the beginning. A
            journal in which no file's head can be read cannot be salvaged: its events cannot be told from other bytes.
            """,
            """
            If the end of the last file is damaged, the number of missing events is unknown: verify and salvage then say
            so, or how many are missing at least. With --json, missing is null.
            """,
        ],
        statuses: [
            (.success, ["done"]),
            (.usage, ["the command line is wrong"]),
            (.badInput, ["with verify, replay and salvage: events are missing, or bytes cannot be read"]),
            (
                .noInput,
                ["there is no such directory, or it cannot be read", "with salvage: no head of a file is left"]
            ),
            (
                .workerUnavailable,
                [
                    "with trim: a process has the journal open",
                    "with replay: no supervisor answers at the control socket, or it ended; or the worker takes no",
                    "events, or wants none of these",
                ]
            ),
            (.output, ["standard output cannot be written"]),
            (.unhandledEvents, ["with replay: the worker has refused events"]),
            (.notPermitted, ["with replay: another user serves the control socket"]),
        ]
    )

    private static let time = Option.Value(
        placeholder: "TIME",
        expected: JournalOptions.expectedTime,
        values: .text
    )

    private static let position = Option.Value(
        placeholder: "POSITION",
        expected: JournalOptions.expectedPosition,
        values: .text
    )
}
