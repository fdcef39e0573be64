/// What became of an event that was delivered.
public struct DeliveryReceipt: Sendable, Hashable {
    /// The event's identity.
    public let id: EventID

    /// How many handlers the event had in each process that was waited for and has any, by the name of the process.
    ///
    /// If two bridges of a publisher have processes of the same name, the number is their sum.
    public let handlers: [String: Int]
}

/// Thrown by a request that was answered with the event that reports its failure.
public struct RequestFailed<Failure: DomainEvent>: Error, Sendable, CustomStringConvertible {
    /// The event that reports the failure.
    public let event: Failure

    init(_ event: Failure) {
        self.event = event
    }

    /// The event in words.
    public var description: String { "\(event)" }
}
