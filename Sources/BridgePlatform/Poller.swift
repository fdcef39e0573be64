import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// One thread that waits for descriptors, deadlines and work, and calls what was registered for them.
///
/// Each turn waits, then handles what the descriptors have, then the timers that were due when the wait ended, and then
/// work given to `perform`. Descriptors come first: if this process stood still for a while, an answer in a socket is
/// read before a timer can report the answer missing. No lock is held during a call.
///
/// A handler that takes long delays all others. The thread keeps the poller alive until `stop()`.
///
/// `@unchecked Sendable` is sound: every mutable property is touched under `lock` only.
package final class Poller: @unchecked Sendable {
    /// What a registration waits for.
    ///
    /// Hang-up and errors are reported as well while the interest is not empty.
    package struct Interest: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let readable = Interest(rawValue: 1)
        package static let writable = Interest(rawValue: 2)

        /// The peer has shut down its writing side.
        package static let peerHangUp = Interest(rawValue: 4)

        /// Calls the handler once for each change, not again and again while a condition lasts; `update` is a change.
        package static let edgeTriggered = Interest(rawValue: 32)
    }

    /// What a wait has found on a descriptor.
    ///
    /// A readiness may report more than is true: a call on the descriptor may find nothing, and block.
    package struct Readiness: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let readable = Readiness(rawValue: 1)
        package static let writable = Readiness(rawValue: 2)
        package static let peerHangUp = Readiness(rawValue: 4)

        /// Both directions have ended.
        package static let hangUp = Readiness(rawValue: 8)
        package static let error = Readiness(rawValue: 16)
    }

    package typealias Handler = @Sendable (Readiness) -> Void
    package typealias Work = @Sendable () -> Void

    let lock = Lock()
    private let callEnded: Condition
    private let queue: any PollerQueue
    private static var current: ThreadSpecific<Poller> { ThreadSpecific(.poller) }

    // In ascending order of their tokens. This is no dictionary, because a process's first dictionary with numbers as
    // keys takes a tenth of a millisecond: the runtime looks for the key's conformance in all images.
    private(set) var registrations: [Registration] = []
    private var lastToken: UInt64 = 0
    private var timers = TimerHeap()
    private var work: [Work] = []
    /// The deadline until which the thread sleeps, `nil` while it is awake.
    private var sleepsUntil: UInt64?
    private var isWakeUpSent = false
    /// The registration or timer whose call is under way.
    private var callee: AnyObject?
    private var waiterCount = 0
    private var isStopping = false
    private var thread: PlatformThread?

    /// Starts the thread, under this name.
    package convenience init(name: String) throws(SystemError) {
        let queue: any PollerQueue = Simulation.thread == nil ? try EventQueue() : SimulatedEventQueue()
        try self.init(name: name, waitingOn: queue)
    }

    init(name: String, waitingOn queue: any PollerQueue) throws(SystemError) {
        callEnded = Condition(lock: lock)
        self.queue = queue
        let started = try PlatformThread.startJoinable(name: name) { [self] in run() }
        lock.withLock { thread = started }
    }

    /// Whether this is the poller's thread.
    package var isCurrent: Bool {
        guard let current = Poller.current.unmanagedValue else { return false }
        return current.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
    }

    // MARK: Descriptors

    /// Calls `handler` on the poller's thread whenever `descriptor` has what `interest` asks for.
    ///
    /// The descriptor must stay open until the registration has been cancelled, and has one registration at a time. The
    /// registration lasts until its cancellation even if the caller does not keep it. The handler may be called before
    /// this returns.
    package func register(
        _ descriptor: CInt,
        interest: Interest,
        handler: @escaping Handler
    ) throws(SystemError) -> Registration {
        try lock.withLock { () throws(SystemError) in
            if isStopping {
                throw SystemError(code: ECANCELED, operation: "watching descriptor \(descriptor) on a stopped poller")
            }
            lastToken += 1
            let token = lastToken
            if interest.isWatching { try queue.add(descriptor, interest, token: token) }
            let registration = Registration(self, token, descriptor, interest, handler)
            registrations.append(registration)
            return registration
        }
    }

    func update(_ registration: Registration, to interest: Interest) throws(SystemError) {
        try lock.withLock { () throws(SystemError) in
            guard place(of: registration.token) != nil else { return }
            // A descriptor with an empty interest leaves the kernel's list, because the kernel would report a hang-up
            // there over and over.
            switch (registration.interest.isWatching, interest.isWatching) {
            case (false, false): break
            case (false, true): try queue.add(registration.descriptor, interest, token: registration.token)
            case (true, false): queue.remove(registration.descriptor)
            case (true, true): try queue.change(registration.descriptor, interest, token: registration.token)
            }
            registration.interest = interest
        }
    }

    func cancel(_ registration: Registration, waiting: Bool) {
        // The handler is released after the lock, because the deinit of what a closure holds may call this poller.
        let released: Handler? = lock.withLock {
            if let place = place(of: registration.token) {
                registrations.remove(at: place)
                if registration.interest.isWatching { queue.remove(registration.descriptor) }
            }
            if waiting { waitForEndOfCall(of: registration) }
            return registration.handler.take()
        }
        withExtendedLifetime(released) {}
    }

    // MARK: Timers

    /// Calls `body` on the poller's thread once the monotonic clock has reached `deadline`.
    ///
    /// Timers are called in the order of their deadlines, timers of the same deadline in the order in which they were
    /// made; a deadline in the past counts as now. A stopped poller calls no timer.
    @discardableResult
    package func schedule(at deadline: UInt64, _ body: @escaping Work) -> Timer {
        // If a deadline in the past did not count as now, a body that schedules its next call in the past each time
        // would hold up all else.
        let effective = max(deadline, MonotonicClock.now())
        let (timer, wakes) = lock.withLock {
            let timer = Timer(self, effective, body)
            if isStopping {
                timer.body = nil
                return (timer, false)
            }
            timers.insert(timer)
            return (timer, mustWake(by: effective))
        }
        if wakes { queue.wake() }
        return timer
    }

    /// Calls `body` on the poller's thread once `nanoseconds` have passed.
    @discardableResult
    package func schedule(after nanoseconds: UInt64, _ body: @escaping Work) -> Timer {
        let (deadline, isBeyondTime) = MonotonicClock.now().addingReportingOverflow(nanoseconds)
        return schedule(at: isBeyondTime ? .max : deadline, body)
    }

    func cancel(_ timer: Timer, waiting: Bool) {
        let released: Work? = lock.withLock {
            timers.remove(timer)
            if waiting { waitForEndOfCall(of: timer) }
            return timer.body.take()
        }
        withExtendedLifetime(released) {}
    }

    // MARK: Work

    /// Runs `body` on the poller's thread at the end of this turn or the next one, after the bodies given before.
    ///
    /// - Returns: `false` when the poller is stopping and `body` will not run.
    @discardableResult
    package func perform(_ body: @escaping Work) -> Bool {
        let (isAccepted, wakes) = lock.withLock {
            if isStopping { return (false, false) }
            work.append(body)
            return (true, claimWakeUp())
        }
        if wakes { queue.wake() }
        return isAccepted
    }

    /// Ends the thread and releases all handlers and timers.
    ///
    /// Work that `perform` has accepted still runs; timers do not. On another thread the first call waits for the end;
    /// on the poller's own thread a call returns at once, and the thread ends when that work has run.
    package func stop() {
        let (ending, wakes) = lock.withLock {
            isStopping = true
            return (thread, claimWakeUp())
        }
        if wakes { queue.wake() }
        if isCurrent { return }
        ending?.join()
    }

    /// Claims the wake-up if the thread sleeps and no wake-up was sent yet; returns whether the caller must send it.
    private func claimWakeUp() -> Bool {
        if sleepsUntil == nil || isWakeUpSent { return false }
        isWakeUpSent = true
        return true
    }

    /// Sees to it that the thread does not sleep beyond `deadline`; returns whether the caller must wake it for that.
    ///
    /// Called with the lock held: otherwise, of two threads, the one with the later deadline could set the queue's
    /// deadline last. If the queue takes the deadline, the thread sleeps on until then, and the caller wakes no thread.
    private func mustWake(by deadline: UInt64) -> Bool {
        guard let end = sleepsUntil, deadline < end, !isWakeUpSent else { return false }
        guard queue.wake(at: deadline) else { return claimWakeUp() }
        sleepsUntil = deadline
        return false
    }

    private func waitForEndOfCall(of object: AnyObject) {
        if isCurrent { return }
        waiterCount += 1
        while callee === object { callEnded.wait() }
        waiterCount -= 1
    }
}

// MARK: - The thread

extension Poller {
    private enum Turn {
        case sleep(until: UInt64?)
        case poll
        case end
    }

    private func run() {
        Poller.current.value = self
        loop: while true {
            let earliest: UInt64?
            switch beginTurn() {
            case .end: break loop
            case .poll: earliest = MonotonicClock.now()
            case .sleep(let deadline): earliest = deadline
            }
            let before = MonotonicClock.now()
            let count = queue.wait(atMost: earliest.map { $0 > before ? $0 - before : 0 })
            let now = MonotonicClock.now()
            noteWakeUp()
            for index in 0..<count {
                if let event = queue.event(at: index) { call(event.token, event.readiness) }
            }
            callTimers(dueAt: now)
            runWork()
        }
        releaseEverything()
        Poller.current.value = nil
    }

    private func beginTurn() -> Turn {
        lock.withLock {
            if !work.isEmpty { return .poll }
            if isStopping { return .end }
            let deadline = timers.first?.deadline
            sleepsUntil = deadline ?? .max
            return .sleep(until: deadline)
        }
    }

    private func noteWakeUp() {
        lock.withLock {
            sleepsUntil = nil
            isWakeUpSent = false
        }
    }

    /// Where the registration with this token lies, if it has not ended; called with the lock held.
    private func place(of token: UInt64) -> Int? {
        let place = registrations.partitioningIndex { $0.token >= token }
        return place < registrations.count && registrations[place].token == token ? place : nil
    }

    private func call(_ token: UInt64, _ readiness: Readiness) {
        // The search is by token: a registration cancelled earlier in this turn is not found, even if another
        // registration has its descriptor's number now.
        let handler: Handler? = lock.withLock {
            guard let place = place(of: token) else { return nil }
            let registration = registrations[place]
            callee = registration
            return registration.handler
        }
        guard let handler else { return }
        handler(readiness)
        endCall()
    }

    private func callTimers(dueAt now: UInt64) {
        while true {
            let body: Work? = lock.withLock {
                guard !isStopping, let timer = timers.first, timer.deadline <= now else { return nil }
                timers.remove(timer)
                callee = timer
                return timer.body.take()
            }
            guard let body else { return }
            body()
            endCall()
        }
    }

    private func runWork() {
        let bodies = lock.withLock {
            let bodies = work
            work = []
            return bodies
        }
        for body in bodies { body() }
    }

    private func endCall() {
        lock.withLock {
            callee = nil
            if waiterCount > 0 { callEnded.broadcast() }
        }
    }

    private func releaseEverything() {
        let (ended, dropped) = lock.withLock {
            let ended = (registrations, timers.removeAll())
            for registration in ended.0 where registration.interest.isWatching {
                queue.remove(registration.descriptor)
            }
            let handlers = ended.0.map { $0.handler.take() }
            registrations = []
            return (ended, handlers)
        }
        withExtendedLifetime((ended, dropped)) {}
    }
}

extension Poller.Interest {
    /// Whether there is something to watch; edge triggering is only a manner of watching.
    fileprivate var isWatching: Bool { !subtracting(.edgeTriggered).isEmpty }
}
