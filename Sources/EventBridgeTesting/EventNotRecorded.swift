public import DomainEvents

/// The error of ``EventRecorder/next(_:within:clock:)`` if there is no event to return.
public struct EventNotRecorded: Error, Sendable, CustomStringConvertible {
    /// The name of the event that the test waited for.
    public let event: String

    /// What was recorded, in order.
    public let recorded: [any DomainEvent]

    /// What happened, and what was recorded instead.
    public let description: String

    private static let shown = 20

    init(_ event: String, problem: String, recorded: [any DomainEvent], taken: Set<Int>) {
        self.event = event
        self.recorded = recorded
        guard !recorded.isEmpty else {
            description = "\(problem); nothing was recorded"
            return
        }
        let left = max(0, recorded.count - Self.shown)
        var lines = ["\(problem); recorded instead:"]
        if left > 0 { lines.append("  (\(left) earlier events)") }
        for (index, event) in recorded.enumerated().dropFirst(left) {
            lines.append("  \(index + 1). \(event)\(taken.contains(index) ? " (returned before)" : "")")
        }
        description = lines.joined(separator: "\n")
    }
}
