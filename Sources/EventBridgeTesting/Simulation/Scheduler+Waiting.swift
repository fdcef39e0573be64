import Locks

/// The waits of a world's threads, and the ends of these waits.
extension Scheduler {
    /// Lets the thread wait until it is woken or the deadline comes.
    ///
    /// - Parameter give: gives back the lock that the thread holds, and returns the lock's identity.
    /// - Returns: Whether the thread was woken before the deadline.
    func wait(
        _ thread: WorldThread,
        for matter: WorldThread.Matter,
        until deadline: UInt64?,
        giving give: () -> ObjectIdentifier? = { nil }
    ) -> Bool {
        step(.wait, thread)
        if let deadline, deadline <= now {
            if let lock = give() { wasUnlocked(lock) }
            yield(thread)
            return false
        }
        thread.waits += 1
        thread.deadline = deadline
        thread.isOverdue = false
        thread.state = .waits(for: matter)
        waiting.append(thread)
        if let deadline { clock.alarms.set(deadline, .wait(thread, number: thread.waits)) }
        if let lock = give() { wasUnlocked(lock) }
        handOn(from: thread)
        return !thread.isOverdue
    }

    /// Waits until the lock is given back, and returns true; returns false at once if no thread of this world holds it.
    func waitForLock(_ lock: Lock, _ thread: WorldThread) -> Bool {
        let identity = ObjectIdentifier(lock)
        guard threads.contains(where: { $0.held.contains(identity) }) else { return false }
        lockWaiters += 1
        defer { lockWaiters -= 1 }
        return wait(thread, for: .lock(identity), until: nil)
    }

    func wasUnlocked(_ lock: ObjectIdentifier) {
        if lockWaiters > 0 { wake(.lock(lock), all: true) }
    }

    func wake(_ matter: WorldThread.Matter, all: Bool) {
        var index = 0
        while index < waiting.count {
            if waiting[index].state == .waits(for: matter) {
                let thread = waiting.remove(at: index)
                thread.state = .ready
                ready.append(thread)
                if !all { return }
            } else {
                index += 1
            }
        }
    }

    /// Lets other threads go on: this thread has nothing to do until another thread has done something.
    func yield(_ thread: WorldThread) {
        step(.yield, thread)
        clock.pass(1_000)
        ready.append(thread)
        thread.state = .ready
        handOn(from: thread)
    }

    /// Ends the process: none of its threads gets another turn.
    func kill(_ process: WorldProcess) {
        process.isDead = true
        wake(.death(of: process.number), all: true)
    }

    /// Lets the threads of a killed or stopped process go on, so that they come to their end.
    func revive(_ process: WorldProcess) {
        process.isDead = false
        process.isStopped = false
        // The alarm clock has removed those alarms of the dead process that were the earliest, so all are set again.
        for thread in waiting where thread.process === process {
            if let deadline = thread.deadline { clock.alarms.set(deadline, .wait(thread, number: thread.waits)) }
        }
    }

    /// Returns when the process has been killed.
    func waitForDeath(of process: WorldProcess) {
        guard let thread = current(), !process.isDead else { return }
        _ = wait(thread, for: .death(of: process.number), until: nil)
    }

    /// Lets the calling thread go on only if its process has not been killed.
    func yieldIfDead() {
        guard let thread = current(), thread.process.isDead else { return }
        yield(thread)
    }

    func sleep(nanoseconds: UInt64) {
        guard nanoseconds > 0, let thread = current() else { return }
        _ = wait(thread, for: .time, until: now + nanoseconds)
    }
}
