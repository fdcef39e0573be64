/// What becomes due at times to come, earliest first; what is due at one time in the order in which it was set.
struct AlarmClock {
    enum Due {
        /// The end of a thread's wait, by the number of the wait.
        case wait(WorldThread, number: UInt64)
        /// Something that a thread of the process is to call.
        case call(WorldProcess, @Sendable () -> Void)
        /// Something that is done on the spot.
        case act(@Sendable () -> Void)
    }

    private struct Alarm {
        let time: UInt64
        let due: Due
    }

    /// The next one is last.
    private var alarms: [Alarm] = []

    mutating func set(_ time: UInt64, _ due: Due) {
        var (low, high) = (0, alarms.count)
        while low < high {
            let middle = (low + high) / 2
            if alarms[middle].time > time { low = middle + 1 } else { high = middle }
        }
        alarms.insert(Alarm(time: time, due: due), at: low)
    }

    /// When the next is due, of those that are still of use.
    mutating func next() -> UInt64? {
        // A wait that has ended otherwise is no reason for time to pass.
        while let alarm = alarms.last, isIdle(alarm.due) { alarms.removeLast() }
        return alarms.last?.time
    }

    mutating func takeNext() -> Due? { alarms.popLast()?.due }

    mutating func removeAll() { alarms = [] }

    private func isIdle(_ due: Due) -> Bool {
        guard case .wait(let thread, let number) = due else { return false }
        guard case .waits = thread.state else { return true }
        return thread.waits != number || thread.process.isDead
    }
}
