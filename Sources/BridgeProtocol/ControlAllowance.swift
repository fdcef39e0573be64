/// How many control messages a peer may send.
///
/// For each event that was sent to a peer, the peer may send three answers: an acknowledgement, a refusal and a
/// receipt. All other messages, and answers beyond these, are limited to a number per second; a burst may have as many
/// messages as four seconds allow.
///
/// A pure value: the caller passes the time, which is evaluated only when no allowance is left.
package struct ControlAllowance: Sendable {
    /// How many answers one event allows.
    private static let answersPerEvent: UInt64 = 3
    private static let burstSeconds = 4
    private static let second: UInt64 = 1_000_000_000

    /// How many messages are allowed in a second; `nil` for any number.
    private let rate: Int?
    private var left: Int
    /// The time up to which ``left`` has been counted.
    private var countedTo: UInt64
    private var answers: UInt64 = 0

    /// - Parameter now: nanoseconds of a monotonic clock.
    package init(perSecond rate: Int?, from now: UInt64) {
        self.rate = rate
        left = (rate ?? 0) * Self.burstSeconds
        countedTo = now
    }

    /// A message has arrived; throws if the peer may not send it now.
    ///
    /// - Parameters:
    ///   - kind: the message's kind; nil for an unknown kind, which is skipped.
    ///   - events: how many events have been sent to the peer.
    package mutating func received(
        _ kind: FrameKind?,
        events: UInt64,
        now: @autoclosure () -> UInt64
    ) throws(LinkViolation) {
        guard let rate else { return }
        switch kind {
        case .acknowledge, .refuse, .receipt:
            if answers / Self.answersPerEvent < events {
                answers += 1
                return
            }
        default: break
        }
        if left == 0 { refill(rate, now()) }
        guard left > 0 else {
            throw LinkViolation(
                """
                it sends too many control messages that answer no event; the limit is \(rate) a second, and \
                \(rate * Self.burstSeconds) at once
                """
            )
        }
        left -= 1
    }

    private mutating func refill(_ rate: Int, _ now: UInt64) {
        let elapsed = now > countedTo ? now - countedTo : 0
        let full = UInt64(Self.burstSeconds) * Self.second
        if elapsed >= full {
            left = rate * Self.burstSeconds
            countedTo = now
        } else {
            left = Int(elapsed * UInt64(rate) / Self.second)
            // The rest of the time, too short for a whole message, counts towards the next message.
            countedTo += UInt64(left) * Self.second / UInt64(rate)
        }
    }
}
