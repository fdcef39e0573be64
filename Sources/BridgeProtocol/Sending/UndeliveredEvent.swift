package import DomainEvents

/// An event that a process has refused, or that was given up before the process had handled it.
package struct UndeliveredEvent: Sendable {
    package let name: String
    package let context: EventContext
    /// How often the event was handed to the process.
    package let attempts: Int
    /// Why each incarnation that crashed over the event ended, oldest first.
    package let strikes: [String]
    /// Whether the event lies in a journal, which has to hear what becomes of it.
    package let isOwed: Bool
    /// Whether journals of the process may lack the event: a journal has failed to record it, or no handler got it.
    ///
    /// Only for events that the host itself could not handle.
    package var lacksRecord: Bool
    package let payload: [UInt8]

    package init(
        name: String,
        context: EventContext,
        attempts: Int,
        strikes: [String] = [],
        isOwed: Bool = false,
        lacksRecord: Bool = false,
        payload: UnsafeRawBufferPointer
    ) {
        self.init(
            name: name,
            context: context,
            attempts: attempts,
            strikes: strikes,
            isOwed: isOwed,
            lacksRecord: lacksRecord,
            payload: Array(payload)
        )
    }

    package init(
        name: String,
        context: EventContext,
        attempts: Int,
        strikes: [String] = [],
        isOwed: Bool = false,
        lacksRecord: Bool = false,
        payload: [UInt8]
    ) {
        self.name = name
        self.context = context
        self.attempts = attempts
        self.strikes = strikes
        self.isOwed = isOwed
        self.lacksRecord = lacksRecord
        self.payload = payload
    }
}
