import DomainEvents

/// `supervisor metrics`: prints the text that Prometheus reads, once.
struct MetricsCommand {
    let control: String?

    func run() async throws(RunFailure) -> String? {
        let report = try await HostConnection.status(at: ControlPath.find(control), as: .metrics)
        return MetricsText.text(report)
    }
}
