extension Subcommand {
    static let metrics = Subcommand(
        name: .metrics,
        summary: "print the counts of a running supervisor for Prometheus",
        purpose: "Prints the counts of a running supervisor and its workers in the text format of Prometheus.",
        options: [control],
        statuses: [(.success, ["printed"])] + attachingStatuses + [(.output, ["standard output cannot be written"])]
    )
}
