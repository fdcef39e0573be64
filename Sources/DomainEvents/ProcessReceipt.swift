/// A process that a caller waits for.
package struct AwaitedProcess: Hashable, Sendable {
    package let name: String
    /// The bridge that reaches the process, as two bridges of a publisher may have processes of the same name; nil for
    /// this process.
    package let bridge: ObjectIdentifier?

    package init(_ name: String, of bridge: ObjectIdentifier?) {
        (self.name, self.bridge) = (name, bridge)
    }
}

/// What one process reports about an event for which a caller waits.
package struct ProcessReceipt: Sendable {
    package let process: AwaitedProcess
    /// How many handlers of the event have returned in the process.
    package let handlers: Int
    /// Why the process did not handle the event; nil if it did, or if it has no subscriber for the event.
    package let failure: (any Error)?
    /// Whether the process has refused the event; then its receipt and its refusal report the same failure.
    package let isRefusal: Bool
    /// The processes of the same bridge that the event was passed on to; each sends its own receipt.
    package let passedOnTo: [String]

    package init(
        process: AwaitedProcess,
        handlers: Int,
        failure: (any Error)? = nil,
        isRefusal: Bool = false,
        passedOnTo: [String] = []
    ) {
        self.process = process
        self.handlers = handlers
        self.failure = failure
        self.isRefusal = isRefusal
        self.passedOnTo = passedOnTo
    }
}
