/// Whether a link is looked after in a moment, and which event was in its handlers at the last look.
///
/// One timer for everything that may have to be done by then: acknowledging what found no frame to ride on, and
/// relieving the reading thread if it is still in the same handlers. The first event sets it, and it runs on only while
/// handlers run, so an idle link has no timer.
struct LinkWatch {
    private var isSet = false
    private var watched: UInt64 = 0

    /// Something may have to be done in a moment.
    ///
    /// - Parameter sequence: the event whose handlers may be slow; 0 for none.
    /// - Returns: Whether the timer is to be started.
    mutating func set(watching sequence: UInt64) -> Bool {
        if isSet { return false }
        isSet = true
        watched = sequence
        return true
    }

    /// The time has come.
    ///
    /// - Parameter now: the event whose handlers keep the reading thread; 0 if none do.
    /// - Returns: Whether this is the event that was watched, and whether the timer is to be started again.
    mutating func look(at now: UInt64) -> (isSlow: Bool, starts: Bool) {
        isSet = false
        let isSlow = now != 0 && now == watched
        return (isSlow, now != 0 && set(watching: now))
    }
}
