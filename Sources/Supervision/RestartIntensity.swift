/// Limits how often children are restarted before they are given up.
///
/// The window slides: it is the time `within` up to now. A failed child is restarted if at most `restarts` failures lie
/// in it, the latest included. With the default the sixth failure in ten seconds is one too many. With `.oneForOne`
/// each child has its own window. With the other strategies the children share one window, as they restart together.
///
/// An end that is blamed on an event does not count. Nor does the time of a start that fails: the window stands still
/// during that start. Otherwise a child whose starts take as long as the window would be restarted for ever.
public struct RestartIntensity: Hashable, Sendable {
    /// The number of restarts that are allowed within the window.
    ///
    /// With 0, the supervisor gives a child up at its first failure.
    public var restarts: Int

    /// The length of the sliding window.
    public var within: Duration

    /// Makes a limit; the default is 5 restarts in 10 s, as systemd has it.
    public init(restarts: Int = 5, within: Duration = .seconds(10)) {
        self.restarts = restarts
        self.within = within
    }

    /// Finds every mistake, each as a sentence; empty if there is none.
    public func validate() -> [String] {
        var mistakes: [String] = []
        if restarts < 0 {
            mistakes.append("the restart intensity allows \(restarts) restarts; it must be 0 or more")
        }
        mistakes += within.mistakes(as: "the window of the restart intensity", mayBeZero: false)
        return mistakes
    }
}

extension RestartIntensity: CustomStringConvertible {
    /// A phrase such as `5 restarts within 10 s`.
    public var description: String {
        "\(restarts) \(restarts == 1 ? "restart" : "restarts") within \(within.text)"
    }
}

/// Remembers the failures within the sliding window of a restart intensity.
package struct RestartWindow: Sendable {
    private var failures: [Duration] = []
    /// How much time failed starts have taken.
    private var standstill = Duration.zero
    /// When the last failure was, by the clock that does not stand still.
    private var lastFailure: Duration?

    package init() {}

    /// Takes note of a failure, and says whether a restart is still allowed.
    ///
    /// - Parameter start: how long the failed start took; zero if the child had become ready.
    package mutating func allowsRestart(
        afterFailureAt now: Duration,
        ofStartThatTook start: Duration = .zero,
        under intensity: RestartIntensity
    ) -> Bool {
        // If a start overlaps with time that was counted before, only the rest counts, because the window's clock must
        // never run back.
        standstill += min(start, lastFailure.map { now - $0 } ?? start)
        lastFailure = now
        let now = now - standstill
        failures.removeAll { now - $0 > intensity.within }
        failures.append(now)
        return failures.count <= intensity.restarts
    }

    package mutating func clear() {
        failures.removeAll()
        standstill = .zero
        lastFailure = nil
    }
}
