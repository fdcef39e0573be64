/// All subcommands.
extension Subcommand {
    static let all: [Subcommand] = [
        run, check, status, tail, publish, request, start, restart, stop, signal, reload, deadLetters,
        journal, logs, metrics, events, trace, graph, completion, help,
    ]

    static func named(_ name: Name) -> Subcommand {
        switch name {
        case .run: run
        case .check: check
        case .status: status
        case .start: start
        case .stop: stop
        case .restart: restart
        case .signal: signal
        case .reload: reload
        case .deadLetters: deadLetters
        case .journal: journal
        case .logs: logs
        case .metrics: metrics
        case .graph: graph
        case .tail: tail
        case .publish: publish
        case .request: request
        case .events: events
        case .trace: trace
        case .completion: completion
        case .help: help
        }
    }

    private static let configuration = Operand(
        placeholder: "CONFIG",
        noun: "configuration",
        expected: "the name of its file",
        values: .file
    )

    private static let run = Subcommand(
        name: .run,
        summary: "run the workers and print the events that pass",
        purpose: "Runs the workers of a configuration, carries events between them, and prints each event that passes.",
        operands: [configuration],
        options: [
            Option(
                name: "--input",
                value: Option.Value(
                    placeholder: "FILE|-",
                    expected: "a file, or - for standard input",
                    values: .file
                ),
                summary: "publish the events of a file, a pipe, or standard input: one JSON object a line such as",
                details: [
                    #"{"type": "BoxOrdered", "data": {"label": "Books"}}"#,
                    "The other attributes of a printed event may stand there too; they are ignored.",
                    "A line that cannot be published is named with the reason and skipped.",
                ]
            ),
            Option(
                name: "--format",
                value: Option.Value(
                    placeholder: "text|json",
                    expected: "text or json",
                    values: .choice(RunOptions.Format.allCases.map(\.rawValue))
                ),
                summary: "print events as aligned text, or each as a CloudEvents object in a line of its own"
            ),
            Option(
                name: "--exit-when-idle",
                summary: "stop when all input is handled and nothing is on its way between the workers"
            ),
            Option(
                name: "--strict",
                summary: "stop at the first line of input that is wrong, or whose event a worker refuses for its fields"
            ),
            Option(
                name: "--control",
                value: Option.Value(placeholder: "PATH", expected: "the path of a socket", values: .file),
                summary: "let other processes of this user attach at this socket, in the place of the configuration's;",
                details: [
                    "it is made in a directory that only its user may enter, which is made if it is missing"
                ]
            ),
            Option(
                name: "--dashboard",
                value: Option.Value(
                    placeholder: "PORT",
                    expected: Dashboard.expectedPort,
                    values: .text,
                    usual: "\(Dashboard.usualPort)"
                ),
                summary: "add a worker that shows the run as a live page, at this port of 127.0.0.1;",
                details: [
                    "\(Dashboard.usualPort) if it is left out, any that is free if it is 0; standard error tells where it is"
                ]
            ),
        ],
        details: [
            """
            Events are printed on standard output; what happens to the workers, what they print, and what goes wrong is told
            on standard error. A reader of standard output that stops reading holds up the events; one that goes away does not.
            """,
            """
            Signals:
              SIGTERM, SIGINT      let the workers finish what they have and stop them in reverse order;
                                   the second one escalates, the third one kills
              SIGHUP               reads the configuration again: starts what is new, stops what is gone, replaces what has
                                   changed, leaves the others alone; changes nothing if there is a mistake in it
            """,
        ],
        statuses: [
            (
                .success,
                [
                    "stopped with every event handled; without --strict also if a worker refused events of the input for",
                    "their fields, which are reported",
                ]
            ),
            (.usage, ["the command line is wrong"]),
            (.badInput, ["with --strict: a line of the input is wrong"]),
            (.noInput, ["the configuration or the input cannot be read"]),
            (.workerUnavailable, ["a worker was given up"]),
            (
                .system,
                [
                    "the system refused a resource that the command needs, the control socket cannot be made, the",
                    "journal cannot be opened, or what a killed supervisor has left cannot be read",
                ]
            ),
            (.output, ["stopped with every event handled, but some were not printed, or are not safe in the journal"]),
            (
                .unhandledEvents,
                ["stopped with events left unhandled, dropped, or refused for another reason than the input's fields"]
            ),
            (.configuration, ["the configuration has mistakes"]),
        ]
    )

    private static let check = Subcommand(
        name: .check,
        summary: "say whether a configuration is right",
        purpose: "Reads a configuration and names every mistake in it, with file, line, column and key. Runs nothing.",
        operands: [configuration],
        statuses: [
            (.success, ["the configuration is right"]),
            (.noInput, ["it cannot be read"]),
            (.output, ["standard output cannot be written"]),
            (.configuration, ["it has mistakes, or names a program that is not there"]),
        ]
    )

    private static let graph = Subcommand(
        name: .graph,
        summary: "draw who publishes what to whom",
        purpose: """
            Draws the workers of a configuration and the events between them, as the configuration declares them. Runs nothing.
            """,
        operands: [configuration],
        options: [
            Option(
                name: "--format",
                value: Option.Value(
                    placeholder: "mermaid|dot",
                    expected: "mermaid or dot",
                    values: .choice(GraphFormat.allCases.map(\.rawValue))
                ),
                summary: "the language of the drawing; mermaid if it is left out"
            ),
            Option(name: "--dot", summary: "the same as --format dot, for Graphviz"),
        ],
        details: [
            """
            What a worker subscribes to and no other publishes comes from the supervisor: from its input, or from the program
            that embeds the bridge. What no worker subscribes to goes to the supervisor. A worker without `publishes` may
            publish anything, and the drawing says so.
            """
        ],
        statuses: [
            (.success, ["the drawing is on standard output"]),
            (.noInput, ["the configuration cannot be read"]),
            (.output, ["standard output cannot be written"]),
            (.configuration, ["it has mistakes"]),
        ]
    )

    private static let completion = Subcommand(
        name: .completion,
        summary: "print what makes a shell complete the arguments of this program",
        purpose: "Prints a script for a shell that completes subcommands, options, their values and file names.",
        operands: [
            Operand(
                placeholder: "bash|zsh|fish",
                noun: "shell",
                expected: "bash, zsh or fish",
                values: .choice(CompletionScript.Shell.allCases.map(\.rawValue))
            )
        ],
        details: [
            """
            To use it:
              bash     source <(supervisor completion bash)
              zsh      supervisor completion zsh >"${fpath[1]}/_supervisor"
              fish     supervisor completion fish >~/.config/fish/completions/supervisor.fish
            """
        ]
    )

    private static let help = Subcommand(
        name: .help,
        summary: "tell how the program or a subcommand is used",
        purpose: "Tells how the program or one of its subcommands is used.",
        operands: [
            Operand(
                placeholder: "SUBCOMMAND",
                noun: "subcommand",
                expected: "one of them",
                values: .choice(Name.allCases.map(\.rawValue)),
                isOptional: true
            )
        ],
        options: [Option(name: "--man", summary: "print it as a page of the manual, for man(1)")]
    )
}
