package import DomainEvents

/// An event that a process has refused, or that was given up before the process had acknowledged it.
package struct UndeliveredEvent: Sendable {
    package let name: String
    package let context: EventContext
    /// How often the event was handed to the process.
    package let attempts: Int
    /// For each strike against the event, oldest first: why the incarnation that had the event ended.
    package let strikes: [String]
    /// Whether the event lies in a journal, which has to hear what becomes of it.
    package let isOwed: Bool
    /// Whether a journal of the process may lack the event: recording failed, or the event reached no handler.
    ///
    /// An event that reached a handler without such a failure is known to be recorded, since journals record it first.
    ///
    /// Used only for events that the host itself could not handle.
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
