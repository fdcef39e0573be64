/// Whether a link's timer is set, and which event was in the link's handlers when it was set.
///
/// One timer serves two purposes: to acknowledge what no batch has acknowledged, and to relieve the reading thread if
/// it is still in the same handlers. The first event sets the timer. The timer runs on only while handlers run, so an
/// idle link has no timer.
struct LinkWatch {
    private var isSet = false
    private var watched: UInt64 = 0

    /// Notes that something may have to be done in a moment.
    ///
    /// - Parameter sequence: the event whose handlers may be slow; 0 for none.
    /// - Returns: Whether to start the timer.
    mutating func set(watching sequence: UInt64) -> Bool {
        if isSet { return false }
        isSet = true
        watched = sequence
        return true
    }

    /// The timer has fired.
    ///
    /// - Parameter now: the event whose handlers keep the reading thread busy; 0 for none.
    /// - Returns: Whether `now` is the event that was watched, and whether to start the timer again.
    mutating func look(at now: UInt64) -> (isSlow: Bool, starts: Bool) {
        isSet = false
        let isSlow = now != 0 && now == watched
        return (isSlow, now != 0 && set(watching: now))
    }
}
