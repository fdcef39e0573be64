/// What became of a dead letter whose event was offered again; the letter no longer exists.
package struct Redelivery: Sendable, Hashable {
    package enum Outcome: Sendable, Hashable {
        /// The event waits for its receiver, or the receiver is handling it.
        case accepted
        /// The handlers of this process have returned.
        case handled
        /// This process has refused the event again, which made a new letter.
        case refused(String)
    }

    /// The process that the event was for.
    package let receiver: String
    package let outcome: Outcome
}
