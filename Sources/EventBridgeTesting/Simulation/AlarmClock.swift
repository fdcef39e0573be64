import BridgePlatform

/// Hands out the alarms of a world, earliest first; alarms for the same time come in the order in which they were set.
struct AlarmClock {
    enum Due {
        /// The deadline of a thread's wait; `number` is the number of this wait among the thread's waits.
        case wait(WorldThread, number: UInt64)
        /// A call that a thread of the process makes.
        case call(WorldProcess, @Sendable () -> Void)
        /// A call that the world's running thread, which has the baton, makes at once.
        case act(@Sendable () -> Void)
    }

    private struct Alarm {
        let time: UInt64
        let due: Due
    }

    /// The alarms, latest first, so that the next alarm is the last element.
    private var alarms: [Alarm] = []

    mutating func set(_ time: UInt64, _ due: Due) {
        alarms.insert(Alarm(time: time, due: due), at: alarms.partitioningIndex { $0.time <= time })
    }

    /// Removes alarms that no longer have an effect, and then returns the time of the next alarm.
    mutating func next() -> UInt64? {
        // Time must not pass for a wait that has ended already.
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
