/// How long a process has for its start, or for the present step of its end, and what it has said about that.
struct TimeLimit: Sendable, Hashable {
    /// When the process was requested.
    let launchedAt: Duration
    /// How long after its launch the process has to be ready; grows when the process asks for time.
    private(set) var readiness = Duration.zero
    /// When the timer of its start, or of the present step of its end, fires.
    private(set) var deadline = Duration.zero
    /// The end of the time that the process has asked for.
    private var promisedUntil = Duration.zero
    /// What the process said that it was doing.
    private(set) var statedReason: String?

    init(launchedAt: Duration) { self.launchedAt = launchedAt }

    /// Notes that there is a process, which is to be ready within this time.
    mutating func startBegan(within limit: Duration, at now: Duration) {
        readiness = limit
        deadline = now + limit
    }

    /// Notes that the process has this much time for the present step of its end.
    mutating func stepBegan(within limit: Duration, at now: Duration) { deadline = now + limit }

    /// Notes that the process asks for this much time from now, or says what it is doing.
    mutating func askedForTime(_ more: Duration, because reason: String, at now: Duration) {
        if !reason.isEmpty { statedReason = reason }
        promisedUntil = max(promisedUntil, now + more.clampedToAllowed)
    }

    /// Moves the deadline to the time that the process has asked for.
    ///
    /// - Returns: The time from now to the new deadline; nil if the deadline stays.
    mutating func keepPromise(at now: Duration) -> Duration? {
        guard promisedUntil > deadline else { return nil }
        deadline = promisedUntil
        readiness = promisedUntil - launchedAt
        return promisedUntil - now
    }

    /// Forgets what the process has asked for, because the process is ready.
    mutating func becameReady() { (promisedUntil, statedReason) = (.zero, nil) }
}
