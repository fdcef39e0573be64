package import DomainEvents

/// An event that a process was sent and has not handled, taken out of its outbox.
package struct UndeliveredEvent: Sendable {
    package let name: String
    package let context: EventContext
    /// How often it was handed to the process.
    package let attempts: Int
    /// Why each incarnation that crashed over it ended, oldest first.
    package let strikes: [String]
    package let payload: [UInt8]

    package init(
        name: String,
        context: EventContext,
        attempts: Int,
        strikes: [String] = [],
        payload: UnsafeRawBufferPointer
    ) {
        self.init(name: name, context: context, attempts: attempts, strikes: strikes, payload: Array(payload))
    }

    init(name: String, context: EventContext, attempts: Int, strikes: [String] = [], payload: [UInt8]) {
        self.name = name
        self.context = context
        self.attempts = attempts
        self.strikes = strikes
        self.payload = payload
    }
}
