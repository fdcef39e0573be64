/// Says how long a supervisor waits before it starts a failed child again.
///
/// The wait doubles with each failure in a row, up to a limit. A random part is taken off, so that children that failed
/// together do not come back together. A child that has been ready for `resetsAfter` has proved itself: its next
/// failure counts as the first one again.
public struct Backoff: Hashable, Sendable {
    /// The wait after the first failure in a row.
    public var initial: Duration

    /// The longest wait.
    public var maximum: Duration

    /// The largest part of the wait that is taken off at random, from 0 (none) to 1 (all of it).
    public var jitter: Double

    /// When a child has been ready for this long, its failures so far are forgotten.
    public var resetsAfter: Duration

    /// Whether the supervisor starts the child without any wait after the first failure in a row; if so, the initial
    /// wait follows the second failure.
    public var startsAtOnce: Bool

    /// Makes a back-off that doubles from one duration to another.
    ///
    /// - Parameters:
    ///   - initial: the wait after the first failure; 100 ms by default, too short for a person to notice, and long
    ///     enough to spare the processor.
    ///   - maximum: the longest wait; 30 s by default, so that a child soon runs again once the cause is mended.
    ///   - jitter: the largest part taken off at random; 0.2 by default, so a wait is 80 to 100 % of its nominal
    ///     length.
    ///   - resetsAfter: the time of good health after which failures are forgotten; 10 s by default, as long as the
    ///     window of the default ``RestartIntensity``.
    ///   - startsAtOnce: whether the child starts without a wait after the first failure; false by default.
    public static func exponential(
        from initial: Duration = .milliseconds(100),
        to maximum: Duration = .seconds(30),
        jitter: Double = 0.2,
        resetsAfter: Duration = .seconds(10),
        startsAtOnce: Bool = false
    ) -> Backoff {
        Backoff(
            initial: initial,
            maximum: maximum,
            jitter: jitter,
            resetsAfter: resetsAfter,
            startsAtOnce: startsAtOnce
        )
    }

    /// Finds every mistake, each as a sentence; empty if there is none.
    public func validate() -> [String] {
        var mistakes = initial.mistakes(as: "the initial back-off")
        mistakes += maximum.mistakes(as: "the longest back-off")
        mistakes += resetsAfter.mistakes(as: "the time after which the back-off is reset")
        if initial > maximum {
            mistakes.append("the back-off starts at \(initial.text), above its longest wait of \(maximum.text)")
        }
        if !(0...1).contains(jitter) {
            mistakes.append("the jitter of the back-off is \(jitter); it must lie between 0 and 1")
        }
        return mistakes
    }

    /// The wait after this number of failures in a row, counted from 1.
    package func delay(afterFailures failures: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let doublings = failures - (startsAtOnce ? 2 : 1)
        guard doublings >= 0 else { return .zero }
        let nominal = nominalDelay(doublings: doublings)
        let part = min(max(jitter, 0), 1) * Double.random(in: 0..<1, using: &random)
        return nominal - nominal * part
    }

    private func nominalDelay(doublings: Int) -> Duration {
        guard initial > .zero, maximum > .zero else { return .zero }
        var delay = min(initial, maximum)
        for _ in 0..<doublings {
            // The delay is compared before it is doubled, because the longest possible duration cannot be doubled.
            if delay >= maximum - delay { return maximum }
            delay += delay
        }
        return delay
    }
}
