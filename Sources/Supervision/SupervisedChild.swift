/// One child as the supervisor's state machine sees it.
struct SupervisedChild: Sendable {
    var specification: ChildSpecification
    var phase = Phase.notStarted
    /// What becomes of the child after its present process has ended.
    var intent = Intent.run
    /// The number of the child's present or last start.
    var start = 0
    /// The highest number that was given to a start, even to one that came to nothing.
    var launches = 0
    /// The process that is to take the place of the present one.
    var replacement: Replacement?
    var pid: Int32?
    /// How the present process has ended, and whether it was asked to; nil unless the environment still handles what
    /// the process has left.
    var ended: (reason: ExitReason, wasAsked: Bool)?
    /// A fault found in the present incarnation: the reason for its death, however it dies; nil if there is none.
    var verdict: ExitReason?
    var saidGoodbye = false
    /// Whether the child ever had a process; if so, its program was there once.
    var hasRun = false
    /// How long the present process has for its start, or for the present step of its end.
    var time = TimeLimit(launchedAt: .zero)
    var readySince: Duration?
    /// The child's failures in a row, for the back-off.
    var failures = 0
    var restarts = 0
    var window = RestartWindow()
    /// Whether a requested start has yet to come; a child on demand then starts even if nothing waits for it, and a
    /// temporary child comes back with its group.
    var isWanted = false
    /// Whether the start of the supervisor waits for the child.
    var isAwaited = false
    var wasReady = false
    var membership = Membership.present
    var lastExit: ExitReason?
    var deaths: [ChildDeath] = []
    var diedOf: ExitReason?
    var reported: ChildStatus

    init(_ specification: ChildSpecification) {
        self.specification = specification
        reported = ChildStatus(name: specification.name, state: .notStarted)
    }

    /// Makes what is kept of a removed child once nothing is left of it.
    init(gone name: String) {
        self.init(ChildSpecification(name, executable: .path("")))
        phase = .stopped
        membership = .gone
        reported = status(groupRestart: nil)
    }

    /// How far the child's removal has come; nothing leads back to an earlier step.
    enum Membership: Comparable, Sendable {
        case present
        /// The removal will be requested.
        case leaving
        /// The removal was requested.
        case removed
        /// The environment was told that nothing is left of the child.
        case gone
    }

    enum Phase: Hashable, Sendable {
        case notStarted
        /// The child is to be launched as soon as its turn comes.
        case queued
        /// A process was requested, and the answer has not come yet. `thenStop` says how to end the process when it is
        /// there; nil to keep it.
        case spawning(thenStop: ShutdownSequence?)
        /// There is a process, and the timer of its deadline to be ready runs.
        case starting(TimerToken?)
        case ready
        case stopping(Stopping)
        /// The child is down, and comes back alone when the timer fires.
        case backingOff(TimerToken, until: Duration)
        /// The child is down, and comes back with the group.
        case waiting
        /// The child is down, and is started when something comes for it.
        case dormant
        case stopped
        case gaveUp(String)
    }

    struct Stopping: Hashable, Sendable {
        var remaining: [ShutdownSequence.Step]
        var current: ShutdownSequence.Step?
        var timer: TimerToken?
        /// For how long the timer was started, unless the child has asked for more time.
        var grace = Duration.zero
        /// If the child drains to hand over: how long its own shutdown would let it drain, zero for not at all.
        var ownDrain: Duration?
        var isKilled = false

        /// The process is gone: there is nothing more to do about it.
        static let ended = Stopping(remaining: [], isKilled: true)

        var isDraining: Bool {
            if case .drain = current { true } else { false }
        }
    }

    enum Intent: Hashable, Sendable {
        /// The child's restart type decides.
        case run
        case stop
        /// The child starts again at once: a restart was requested.
        case restart
        /// The child starts again together with the group.
        case rejoin
        /// The child stays down until something comes for it.
        case rest
        /// Another process, which is ready, takes the present one's place.
        case handOver
        case giveUp(String)
    }

    /// Whether the child's removal was requested.
    var isRemoved: Bool { membership >= .removed }

    /// Whether the end of the child, which is no longer significant once it is to be removed, may end the others.
    var isSignificant: Bool { specification.isSignificant && membership == .present }

    /// Whether the child has a process, may have one, or has had one whose end is still being handled.
    var isLive: Bool {
        switch phase {
        case .spawning, .starting, .ready, .stopping: true
        case .notStarted, .queued, .backingOff, .waiting, .dormant, .stopped, .gaveUp: false
        }
    }

    /// Whether the child has a process, or one is being spawned for it, and that process was not asked to end.
    var isAtWork: Bool {
        switch phase {
        case .spawning(thenStop: nil), .starting, .ready: intent == .run
        case .notStarted, .queued, .spawning, .stopping, .backingOff, .waiting, .dormant, .stopped, .gaveUp: false
        }
    }

    var isBeingStopped: Bool {
        switch phase {
        case .spawning(thenStop: .some), .stopping: true
        default: false
        }
    }

    /// Whether the start of the supervisor still waits for the child.
    var isMissing: Bool {
        switch phase {
        case .ready: false
        case .stopped: isAwaited && !wasReady
        default: isAwaited
        }
    }

    /// Whether the child is down and will be started without a further request.
    var isToBeStarted: Bool {
        switch phase {
        case .queued, .backingOff, .waiting, .dormant: true
        case .notStarted, .spawning, .starting, .ready, .stopping, .stopped, .gaveUp: false
        }
    }

    /// Whether the child is expected to be ready soon: in a start in sequence, later children wait for it.
    var isOnItsWay: Bool {
        switch phase {
        case .queued, .spawning, .starting, .backingOff, .waiting: true
        case .stopping: intent == .run || intent == .restart || intent == .rejoin || intent == .handOver
        case .notStarted, .ready, .dormant, .stopped, .gaveUp: false
        }
    }

    /// The timer that runs for the present phase; nil if none runs.
    var timer: TimerToken? {
        switch phase {
        case .starting(let token): token
        case .backingOff(let token, _): token
        case .stopping(let stopping): stopping.timer
        case .notStarted, .queued, .spawning, .ready, .waiting, .dormant, .stopped, .gaveUp: nil
        }
    }

    func state(groupRestart: GroupRestart?) -> ChildState {
        switch phase {
        case .notStarted: .notStarted
        case .queued, .starting, .spawning(thenStop: nil): .starting
        case .spawning: .stopping
        case .ready: .ready
        case .stopping(let stopping): stopping.isDraining && !saidGoodbye ? .draining : .stopping
        case .backingOff(_, let until): .backingOff(attempt: failures, until: until)
        case .waiting: .backingOff(attempt: groupRestart?.attempt ?? failures, until: groupRestart?.until)
        case .dormant: .dormant
        case .stopped: .stopped
        case .gaveUp(let reason): .gaveUp(reason: reason)
        }
    }

    func status(groupRestart: GroupRestart?) -> ChildStatus {
        ChildStatus(
            name: specification.name,
            state: state(groupRestart: groupRestart),
            pid: ended == nil ? pid : nil,
            starts: start,
            restarts: restarts,
            lastExit: lastExit,
            deaths: deaths,
            fault: isLive ? verdict : nil,
            ended: ended?.reason,
            replacement: replacement?.status
        )
    }

    mutating func recordDeath(of reason: ExitReason, at now: Duration, wasAsked: Bool) {
        lastExit = reason
        diedOf = reason
        deaths.append(ChildDeath(time: now, start: start, reason: reason, wasAsked: wasAsked))
        if deaths.count > ChildStatus.deathTallyLimit { deaths.removeFirst() }
    }
}

/// The restart of several children together: all go down, the back-off passes, then each starts or falls dormant.
struct GroupRestart: Hashable, Sendable {
    /// The failures in a row of the child that caused the restart.
    var attempt: Int
    var delay: Duration
    /// The timer of the back-off, which runs from the moment when all members are down.
    var timer: TimerToken?
    var until: Duration?
}
