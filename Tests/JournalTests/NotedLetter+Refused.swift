import DomainEvents

/// Letters for tests whose subject is not the letter itself.
extension NotedLetter {
    /// The letter of an event that its receiver has refused.
    static func refused(
        _ event: EventID,
        by receiver: NotedReceiver,
        number: UInt64 = 1,
        reasons: [String] = [],
        attempts: Int = 1
    ) -> NotedLetter {
        NotedLetter(
            event: event,
            receiver: receiver,
            number: number,
            cause: .refused,
            reasons: reasons,
            strikes: 0,
            attempts: attempts,
            nanosecondsSinceEpoch: 0
        )
    }
}
