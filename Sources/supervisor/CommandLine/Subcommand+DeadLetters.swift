extension Subcommand {
    static let deadLetters = Subcommand(
        name: .deadLetters,
        summary: "list, show, redeliver or discard what workers could not handle",
        purpose: """
            Lists the events that a running supervisor has put aside because a worker could not handle them, shows them,
            offers them to their worker again, or throws them away.
            """,
        operands: [
            Operand(
                placeholder: "ACTION",
                noun: "action",
                expected: "list, show, redeliver or discard",
                values: .choice(DeadLettersOptions.ActionName.allCases.map(\.rawValue)),
                isOptional: true
            ),
            Operand(
                placeholder: "ID",
                noun: "ID",
                expected: DeadLettersOptions.expectedID,
                values: .text,
                isOptional: true,
                isRepeated: true
            ),
        ],
        options: [
            control,
            Option(
                name: "--event",
                value: Option.Value(placeholder: "NAME", expected: "the name of an event", values: .names(.events)),
                summary: "list only letters of this event"
            ),
            Option(
                name: "--worker",
                value: Option.Value(
                    placeholder: "NAME",
                    expected: "the name of a worker, or host",
                    values: .names(.workers)
                ),
                summary: "list only letters for this worker; host stands for the supervisor itself"
            ),
            Option(name: "--json", summary: "print one JSON object a line"),
        ],
        details: [
            """
            Actions:
              list                 the letters, oldest first; this is done without an action, too
              show ID ...          all that is known of a letter, with the event's payload up to 64 KiB
              redeliver ID ...     offers the event to its worker again; says which worker has accepted it, or why not
              discard ID ...       throws the letter away, and its event with it
            """,
            """
            An ID is the number in the first column; without a journal, a new supervisor counts from 1 again. redeliver
            removes a letter only when its worker has accepted the event. If the worker refuses the event again, or crashes
            over it too often, it is a new letter. Each ID gets its line, in order; if one fails, the others are done anyway.
            """,
        ],
        statuses: [
            (.success, ["done for every ID; an empty list is no failure"]),
            (.usage, ["the command line is wrong, or no letter has the first ID that failed"]),
            (
                .workerUnavailable,
                [
                    "no supervisor answers at the control socket, or it ended meanwhile; the lines tell what was done"
                ]
            ),
            (.output, ["standard output cannot be written"]),
            (
                .unhandledEvents,
                [
                    "the first ID that failed was refused: its event is still a dead letter, or is one again; or there",
                    "was no answer within 30 s, and the action may still be carried out",
                ]
            ),
            (.notPermitted, ["another user serves the control socket"]),
        ]
    )
}
