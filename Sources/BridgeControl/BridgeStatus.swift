public import DomainEvents

/// Asks a host for the status of itself and its workers.
///
/// The host answers with a ``BridgeStatusReported``, which only the sender gets. Ask with `request`, or with
/// `BridgeClient.status(within:)`.
public struct BridgeStatusRequested: DomainEvent, SelfReport, Hashable {
    /// Makes the question.
    public init() {}
}

/// The answer of a host to a ``BridgeStatusRequested``.
public struct BridgeStatusReported: DomainEvent, SelfReport, Hashable {
    /// The status of the host and its workers.
    public let report: BridgeReport

    /// Makes the answer.
    public init(_ report: BridgeReport) {
        self.report = report
    }
}
