import DomainEvents

/// What becomes of an event that an earlier host owed to a receiver.
///
/// A pure decision: the receiver may be gone or want other events by now, or the event's strikes may be at the limit.
enum RecoveryPlan: Hashable, Sendable {
    /// The receiver gets the event, as this attempt.
    case deliver(attempt: Int)
    /// The event becomes a dead letter.
    case letter(EventDeadLettered.Cause, reasons: [String])

    /// The worker or pool to which the event was owed, as it is now.
    struct Receiver: Hashable, Sendable {
        /// Whether its specification subscribes to the event.
        let isSpecified: Bool
        /// After how many strikes an event becomes a dead letter; nil for never.
        let strikeLimit: Int?
        /// Why it does not take the event, for example because the event is too large for its present limit; nil if it
        /// takes the event.
        var refusal: String?
    }

    /// - Parameters:
    ///   - wasSpecified: whether the receiver's specification subscribed to the event when the event was recorded. If
    ///     not, its process had asked for the event. Its next process handles the event, or settles it as unwanted.
    ///   - attempts: how often the event was handed to the receiver, as far as the journal says.
    ///   - receiver: nil if there is no such receiver any more.
    init(
        of event: String,
        owedTo name: String,
        wasSpecified: Bool,
        attempts: Int,
        strikes: [String],
        receiver: Receiver?
    ) {
        guard let receiver else {
            self = .letter(
                .workerUnavailable,
                reasons: strikes + ["there is no worker \"\(name)\" any more since the host was started again"]
            )
            return
        }
        if wasSpecified, !receiver.isSpecified {
            self = .letter(
                .workerUnavailable,
                reasons: strikes + [
                    "worker \"\(name)\" does not subscribe to \(event) any more since the host was started again"
                ]
            )
            return
        }
        if let limit = receiver.strikeLimit, !strikes.isEmpty, strikes.count >= limit {
            self = .letter(.crashes, reasons: strikes)
            return
        }
        if let refusal = receiver.refusal {
            self = .letter(.workerUnavailable, reasons: strikes + [refusal])
            return
        }
        self = .deliver(attempt: max(attempts, 1) + (attempts < .max ? 1 : 0))
    }
}
