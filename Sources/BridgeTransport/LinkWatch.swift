/// Whether a link's timer is set, and which event was in the link's handlers when it was set.
///
/// One timer serves two purposes: to acknowledge what no batch has acknowledged, and to relieve the reading thread if
/// it is still in the same handlers. The first event sets the timer. The timer runs on only while the reading thread is
/// busy with what it has read, so an idle link has no timer. It runs on even if no handlers run at the moment: the
/// thread may have lost its processor between the arrival of an event and the beginning of the event's handlers.
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
    /// - Parameters:
    ///   - now: the event whose handlers keep the reading thread busy; 0 for none.
    ///   - isBusy: whether the reading thread acts on what it has read; it may then be about to run the handlers of the
    ///     event that is watched.
    /// - Returns: Whether `now` is the event that was watched, and whether to start the timer again.
    mutating func look(at now: UInt64, isBusy: Bool) -> (isSlow: Bool, starts: Bool) {
        isSet = false
        if now == 0 { return (false, isBusy && set(watching: watched)) }
        let isSlow = now == watched
        return (isSlow, set(watching: now))
    }
}
