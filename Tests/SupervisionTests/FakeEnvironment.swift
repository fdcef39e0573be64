import Locks
import Supervision

/// Records the calls to it, and holds timers until the test lets time pass.
///
/// `@unchecked Sendable` is sound: all its mutable properties are touched only with the lock held.
final class FakeEnvironment: SupervisorEnvironment, @unchecked Sendable {
    private struct State {
        var now = Duration.zero
        var deeds: [String] = []
        var reported: [ChildStatus]
        var timers: [Int: (due: Duration, body: @Sendable () -> Void)] = [:]
        var lastTimer = 0
        /// How many handles are kept.
        var handles = 0
        var isInside = false
        var overlaps = 0
        var launches: [Int]
        var launchesOutOfTurn = 0
        var answersLaunches = false
        var killsAtOnce = false
        var firesAtOnce = false
        var isBeingDebugged = false
        var insideDrain: (@Sendable () -> Void)?
        weak var supervisor: Supervisor?
    }

    private final class Timer: SupervisorTimer {
        let number: Int
        weak let environment: FakeEnvironment?

        init(number: Int, environment: FakeEnvironment) {
            self.number = number
            self.environment = environment
            environment.lock.withLock { environment.state.handles += 1 }
        }

        deinit {
            guard let environment else { return }
            environment.lock.withLock { environment.state.handles -= 1 }
        }

        func cancel() {
            environment?.cancel(number)
        }
    }

    private let lock = Lock()
    private var state: State
    private let names: [String]

    init(names: [String]) {
        self.names = names
        state = State(
            reported: names.map { ChildStatus(name: $0, state: .notStarted) },
            launches: names.map { _ in 0 }
        )
    }

    func makeSupervisor(strategy: RestartStrategy = .oneForOne) -> Supervisor {
        let supervisor = Supervisor(
            specifications: names.map { child($0) },
            strategy: strategy,
            seed: 1,
            environment: self
        )
        lock.withLock { state.supervisor = supervisor }
        return supervisor
    }

    var deeds: [String] { lock.withLock { state.deeds } }
    var reported: [ChildStatus] { lock.withLock { state.reported } }
    var runningTimers: Int { lock.withLock { state.timers.count } }
    var handles: Int { lock.withLock { state.handles } }
    var overlaps: Int { lock.withLock { state.overlaps } }
    var launchesOutOfTurn: Int { lock.withLock { state.launchesOutOfTurn } }

    /// Whether a launch is answered by a ready process from inside the call.
    var answersLaunches: Bool {
        get { lock.withLock { state.answersLaunches } }
        set { lock.withLock { state.answersLaunches = newValue } }
    }

    /// Whether SIGKILL is answered by the child's end from inside the call.
    var killsAtOnce: Bool {
        get { lock.withLock { state.killsAtOnce } }
        set { lock.withLock { state.killsAtOnce = newValue } }
    }

    /// Whether a debugger holds all children.
    var isBeingDebugged: Bool {
        get { lock.withLock { state.isBeingDebugged } }
        set { lock.withLock { state.isBeingDebugged = newValue } }
    }

    func isBeingDebugged(index: Int, start: Int) -> Bool { isBeingDebugged }

    /// Called from inside the next drain of a child.
    var insideDrain: (@Sendable () -> Void)? {
        get { lock.withLock { state.insideDrain } }
        set { lock.withLock { state.insideDrain = newValue } }
    }

    /// Whether timers fire inside `schedule`.
    var firesAtOnce: Bool {
        get { lock.withLock { state.firesAtOnce } }
        set { lock.withLock { state.firesAtOnce = newValue } }
    }

    func pass(_ time: Duration) {
        let end = now + time
        while let body = takeTimer(dueBy: end) { body() }
        lock.withLock { state.now = end }
    }

    private func takeTimer(dueBy end: Duration) -> (@Sendable () -> Void)? {
        lock.withLock {
            guard let next = state.timers.min(by: { $0.value.due < $1.value.due }), next.value.due <= end else {
                return nil
            }
            state.timers[next.key] = nil
            state.now = max(state.now, next.value.due)
            return next.value.body
        }
    }

    private func cancel(_ timer: Int) {
        lock.withLock { state.timers[timer] = nil }
    }

    /// Runs a call of the supervisor, and notes whether another call is under way.
    private func inside<R>(_ body: () -> R) -> R {
        lock.withLock {
            if state.isInside { state.overlaps += 1 }
            state.isInside = true
        }
        defer { lock.withLock { state.isInside = false } }
        return body()
    }

    func note(_ deed: String) {
        lock.withLock { state.deeds.append(deed) }
    }

    private var supervisor: Supervisor? { lock.withLock { state.supervisor } }

    // MARK: SupervisorEnvironment

    var now: Duration { lock.withLock { state.now } }

    func launch(index: Int, start: Int) {
        inside {
            lock.withLock {
                state.deeds.append("launch \(names[index]) \(start)")
                if start != state.launches[index] + 1 { state.launchesOutOfTurn += 1 }
                state.launches[index] = start
            }
            guard answersLaunches else { return }
            supervisor?.childBecameReady(index: index, start: start)
            supervisor?.childSpawned(
                index: index,
                start: start,
                pid: Int32(truncatingIfNeeded: start)
            )
        }
    }

    func drain(index: Int, within grace: Duration) {
        inside {
            note("drain \(names[index])")
            lock.withLock { state.insideDrain.take() }?()
        }
    }

    func launchSuccessor(index: Int, start: Int, request: Int) {
        inside { note("launch \(names[index]) \(start) beside it") }
    }

    func signalSuccessor(index: Int, _ signal: ChildSignal) {
        inside { note("\(signal) the one beside \(names[index])") }
    }

    func adoptSpecification(index: Int, request: Int) {
        inside { note("adopt \(names[index])") }
    }

    func keepEvents(index: Int) {
        inside { note("keep \(names[index])") }
    }

    func letEventsLeave(index: Int) {
        inside { note("let events leave for \(names[index])") }
    }

    func cutOver(index: Int, start: Int) {
        inside { note("cut over \(names[index]) \(start)") }
    }

    func replacementConcluded(request: Int, _ outcome: ReplacementOutcome) {
        inside { note("\(request): \(outcome)") }
    }

    func signal(index: Int, _ signal: ChildSignal) {
        inside {
            note("\(signal) \(names[index])")
            guard signal == .kill, killsAtOnce else { return }
            let start = lock.withLock { state.launches[index] }
            let reason = ExitReason.signaled(number: 9, coreDumped: false)
            supervisor?.childExited(index: index, start: start, reason: reason)
        }
    }

    func schedule(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> any SupervisorTimer {
        inside {
            if firesAtOnce {
                body()
                return Timer(number: 0, environment: self)
            }
            let number = lock.withLock {
                state.lastTimer += 1
                state.timers[state.lastTimer] = (state.now + delay, body)
                return state.lastTimer
            }
            return Timer(number: number, environment: self)
        }
    }

    func statusChanged(index: Int, _ status: ChildStatus, reason: ExitReason?) {
        inside { lock.withLock { state.reported[index] = status } }
    }

    func startupFinished(_ result: Result<Void, StartupFailure>) {
        inside {
            switch result {
            case .success: note("all ready")
            case .failure(let failure): note(failure.description)
            }
        }
    }

    func watchDemand(index: Int) {}

    func automaticShutdownBegan(index: Int) {}

    func childRemoved(index: Int) {
        inside { note("removed \(names[index])") }
    }

    func allStopped() {
        inside { note("all stopped") }
    }
}
