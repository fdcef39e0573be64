import Supervision
import Testing

/// A state machine in a world of virtual time, with a model of the processes that checks the machine's actions.
final class Simulation {
    enum Process: Hashable {
        case none
        case asked
        case alive
        /// The process has ended, and the events that it left are still being recovered.
        case ended
    }

    private(set) var machine: SupervisorStateMachine
    var now = Duration.zero
    /// The timers that run, in the order of their starts.
    private(set) var timers: [(token: TimerToken, due: Duration)] = []
    private(set) var firedTimers: [TimerToken] = []
    private(set) var log: [SupervisorAction] = []
    private(set) var processes: [Process]
    private(set) var reported: [ChildStatus]
    private(set) var breaches: [String] = []
    private(set) var stopsAnnounced = 0
    private(set) var startupResults: [StartupFailure?] = []
    private var incarnations: [Int]
    private var killed: [Bool]
    /// The processes that start beside the present ones.
    private(set) var successors: [Process]
    private var successorIncarnations: [Int]
    private var successorsKilled: [Bool]
    /// The highest number that was given to a start of each child.
    private var launches: [Int]
    /// The requests for replacements that were not answered yet, and the number of all requests.
    private(set) var openRequests: Set<Int> = []
    private var requests = 0
    /// Whether the machine has asked to be told when something comes for the child.
    private var watched: [Bool]
    /// Whether the end of a significant child leads at once to a request to stop, as in a host with nothing on its way.
    var answersAutomaticShutdown = true
    private var isStopping = false
    private var isEscalated = false
    private var isStopped = false
    /// The children whose removal was asked for, and the removed children of which nothing is left.
    private(set) var removed: Set<Int> = []
    private(set) var gone: Set<Int> = []
    private var names: [String]

    init(
        _ specifications: [ChildSpecification],
        strategy: RestartStrategy = .oneForOne,
        intensity: RestartIntensity = RestartIntensity(),
        automaticShutdown: AutomaticShutdown = .never,
        startsInSequence: Bool = false,
        seed: UInt64 = 1
    ) {
        machine = SupervisorStateMachine(
            specifications: specifications,
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startsInSequence: startsInSequence,
            seed: seed
        )
        names = specifications.map(\.name)
        processes = specifications.map { _ in .none }
        incarnations = specifications.map { _ in 0 }
        killed = specifications.map { _ in false }
        successors = processes
        successorIncarnations = incarnations
        successorsKilled = killed
        launches = incarnations
        watched = specifications.map { _ in false }
        reported = machine.status
    }

    var status: [ChildStatus] { machine.status }

    func state(_ index: Int) -> ChildState { machine.status[index].state }

    func start(_ index: Int) -> Int { incarnations[index] }

    /// The number of the start beside the present one; nil if there is none.
    func successorIncarnation(_ index: Int) -> Int? {
        successors[index] == .none ? nil : successorIncarnations[index]
    }

    // MARK: Inputs

    /// Asks for the replacement of a child.
    func replacement(
        of index: Int,
        by specification: ChildSpecification? = nil,
        grace: Duration = .seconds(30)
    ) -> SupervisorInput {
        requests += 1
        let name = names.indices.contains(index) ? names[index] : "nobody"
        let request = ReplacementRequest(number: requests, specification: specification ?? child(name), grace: grace)
        return .replaceRequested(index: index, request)
    }

    /// Asks for the replacement of a child, and lets the new process become ready.
    func replace(_ index: Int, by specification: ChildSpecification? = nil) {
        give(replacement(of: index, by: specification))
        spawned(index, pid: 200, successor: true)
    }

    @discardableResult
    func give(_ input: SupervisorInput) -> [SupervisorAction] {
        noteInput(input)
        let actions = machine.handle(input, at: now)
        for action in actions { note(action, after: input) }
        log += actions
        checkStatus(after: input)
        let isEnding = actions.contains { if case .announceAutomaticShutdown = $0 { true } else { false } }
        return isEnding && answersAutomaticShutdown ? actions + give(.stopRequested) : actions
    }

    @discardableResult
    func start() -> [SupervisorAction] { give(.startRequested) }

    @discardableResult
    func spawned(_ index: Int, pid: Int32 = 100, successor: Bool = false) -> [SupervisorAction] {
        give(.childSpawned(index: index, start: number(index, successor), pid: pid))
    }

    private func number(_ index: Int, _ successor: Bool) -> Int {
        successor ? successorIncarnations[index] : incarnations[index]
    }

    @discardableResult
    func ready(_ index: Int, successor: Bool = false) -> [SupervisorAction] {
        give(.childBecameReady(index: index, start: number(index, successor)))
    }

    @discardableResult
    func exit(
        _ index: Int,
        _ reason: ExitReason = .exited(status: 1),
        isOrderly: Bool = false,
        blame: ExitBlame = .child,
        successor: Bool = false
    ) -> [SupervisorAction] {
        give(
            .childExited(
                index: index,
                start: number(index, successor),
                reason: reason,
                isOrderly: isOrderly,
                blame: blame
            )
        )
    }

    @discardableResult
    func processEnded(
        _ index: Int,
        _ reason: ExitReason = .exited(status: 1),
        successor: Bool = false
    ) -> [SupervisorAction] {
        give(.childProcessEnded(index: index, start: number(index, successor), reason: reason))
    }

    @discardableResult
    func spawnFails(_ index: Int, errno: Int32) -> [SupervisorAction] {
        give(
            .childSpawnFailed(
                index: index,
                start: incarnations[index],
                reason: .spawnFailed("no luck", errno: errno)
            )
        )
    }

    @discardableResult
    func violated(_ index: Int, _ reason: ExitReason) -> [SupervisorAction] {
        give(.childViolated(index: index, start: incarnations[index], reason: reason))
    }

    @discardableResult
    func drained(_ index: Int) -> [SupervisorAction] {
        give(.childDrained(index: index, start: incarnations[index]))
    }

    @discardableResult
    func idled(_ index: Int) -> [SupervisorAction] {
        give(.childIdled(index: index, start: incarnations[index]))
    }

    @discardableResult
    func demanded(_ index: Int) -> [SupervisorAction] { give(.demandArose(index: index)) }

    func comeUp(_ index: Int) {
        spawned(index)
        ready(index)
    }

    /// Answers every start with a process, and makes it ready.
    func allComeUp() {
        while let index = processes.firstIndex(of: .asked) { comeUp(index) }
    }

    /// Starts the supervisor and all children.
    func startAll() {
        start()
        allComeUp()
    }

    /// Gives an input to the machine; running timers fire when they are due.
    func take(_ input: SupervisorInput) {
        if case .timerFired(let token) = input { fire(token) } else { give(input) }
    }

    func fire(_ token: TimerToken) {
        if let index = timers.firstIndex(where: { $0.token == token }) {
            now = max(now, timers[index].due)
            firedTimers.append(token)
            timers.remove(at: index)
        }
        give(.timerFired(token))
    }

    /// Fires the timer that is due next; false if none runs.
    @discardableResult
    func fireNext() -> Bool {
        guard let next = timers.min(by: { $0.due < $1.due }) else { return false }
        fire(next.token)
        return true
    }

    /// Lets time pass, and fires the timers that become due.
    func pass(_ time: Duration) {
        let end = now + time
        while let next = timers.min(by: { $0.due < $1.due }), next.due <= end { fire(next.token) }
        now = end
    }

    /// Stops the supervisor, with children that only SIGKILL ends, and returns whether the stop came to its end.
    func stopToTheEnd() -> Bool {
        give(.stopRequested)
        for _ in 0..<(100 * processes.count + 100) {
            if let index = processes.firstIndex(of: .asked) {
                spawned(index)
            } else if let index = successors.firstIndex(of: .asked) {
                spawned(index, successor: true)
            } else if let index = successors.indices.first(where: { successorsKilled[$0] && successors[$0] == .alive })
            {
                exit(index, .signaled(number: 9, coreDumped: false), successor: true)
            } else if let index = successors.firstIndex(of: .ended) {
                exit(index, successor: true)
            } else if let index = processes.firstIndex(of: .ended) {
                exit(index)
            } else if let index = processes.indices.first(where: { killed[$0] && processes[$0] == .alive }) {
                exit(index, .signaled(number: 9, coreDumped: false))
            } else if !fireNext() {
                break
            }
        }
        return (processes + successors).allSatisfy { $0 == .none } && timers.isEmpty
    }

    /// The actions since `start` in the log, without reports and timers.
    func deeds(since start: Int = 0) -> [String] {
        log[start...].compactMap { action in
            switch action {
            case .spawn(let index, let start): "spawn \(names[index]) \(start)"
            case .sendDrain(let index, _): "drain \(names[index])"
            case .spawnSuccessor(let index, let start, _): "spawn \(names[index]) \(start) beside it"
            case .signalSuccessor(let index, let signal): "\(signal) the one beside \(names[index])"
            case .adoptSpecification(let index, _): "adopt \(names[index])"
            case .keepEvents(let index): "keep \(names[index])"
            case .letEventsLeave(let index): "let events leave for \(names[index])"
            case .cutOver(let index, let start): "cut over \(names[index]) \(start)"
            case .concludeReplacement(_, .replaced): "replaced"
            case .concludeReplacement(_, .exchanged): "exchanged"
            case .concludeReplacement(_, .failed(let why)): "not replaced: \(why)"
            case .watchDemand(let index): "watch \(names[index])"
            case .signal(let index, let signal): "\(signal) \(names[index])"
            case .finishStartup(nil): "all ready"
            case .finishStartup(let failure?): "failed: \(failure)"
            case .announceAutomaticShutdown(let index): "end with \(names[index])"
            case .announceRemoval(let index): "removed \(names[index])"
            case .announceAllStopped: "all stopped"
            case .startTimer, .cancelTimer, .report: nil
            }
        }
    }

    // MARK: The model

    private func noteAdded(_ specifications: [ChildSpecification]) {
        for specification in specifications {
            names.append(specification.name)
            processes.append(.none)
            incarnations.append(0)
            killed.append(false)
            successors.append(.none)
            successorIncarnations.append(0)
            successorsKilled.append(false)
            launches.append(0)
            watched.append(false)
            reported.append(ChildStatus(name: specification.name, state: .notStarted))
        }
    }

    private func noteInput(_ input: SupervisorInput) {
        func isCurrent(_ index: Int, _ start: Int) -> Bool {
            processes.indices.contains(index) && incarnations[index] == start
        }
        if let (index, start) = subject(of: input), processes.indices.contains(index),
            successors[index] != .none, successorIncarnations[index] == start
        {
            return noteSuccessorInput(index, input)
        }
        switch input {
        case .replaceRequested(_, let request): openRequests.insert(request.number)
        case .childSpawned(let index, let start, _), .childBecameReady(let index, let start):
            if isCurrent(index, start), processes[index] == .asked { processes[index] = .alive }
        case .childSpawnFailed(let index, let start, _):
            if isCurrent(index, start), processes[index] == .asked { processes[index] = .none }
        case .childProcessEnded(let index, let start, _):
            if isCurrent(index, start), processes[index] == .alive { processes[index] = .ended }
        case .childExited(let index, let start, _, _, _):
            if isCurrent(index, start) { processes[index] = .none }
        case .stopRequested: isStopping = !isStopped
        case .stopEscalated:
            isStopping = !isStopped
            isEscalated = !isStopped
        case .startRequested: isStopped = false
        case .demandArose(let index):
            if processes.indices.contains(index) { watched[index] = false }
        case .childrenAdded(let specifications): noteAdded(specifications)
        case .removeChildRequested(let index): if processes.indices.contains(index) { removed.insert(index) }
        case .childViolated, .heartbeatMissed, .handlerTimedOut, .childDrained, .childAskedForTime, .timerFired,
            .childIdled, .restartRequested, .replacementCalledOff, .stopChildRequested,
            .startChildRequested, .removalPlanned:
            break
        }
    }

    private func subject(of input: SupervisorInput) -> (index: Int, start: Int)? {
        switch input {
        case .childSpawned(let index, let start, _), .childBecameReady(let index, let start),
            .childSpawnFailed(let index, let start, _), .childProcessEnded(let index, let start, _),
            .childExited(let index, let start, _, _, _):
            (index, start)
        default: nil
        }
    }

    private func noteSuccessorInput(_ index: Int, _ input: SupervisorInput) {
        switch input {
        case .childSpawned, .childBecameReady: if successors[index] == .asked { successors[index] = .alive }
        case .childProcessEnded: if successors[index] == .alive { successors[index] = .ended }
        case .childSpawnFailed: if successors[index] == .asked { successors[index] = .none }
        case .childExited: successors[index] = .none
        default: break
        }
    }

    private func noteReplacing(
        _ action: SupervisorAction,
        _ check: (Bool, @autoclosure () -> String) -> Void
    ) {
        switch action {
        case .spawnSuccessor(let index, let start, let request):
            let isThere = processes[index] == .asked || processes[index] == .alive
            check(isThere, "spawned one beside \(index), which is \(processes[index])")
            check(!removed.contains(index), "spawned one beside \(index), which was removed")
            check(successors[index] == .none, "spawned two beside \(index)")
            check(start == launches[index] + 1, "start \(start) of \(index) is out of turn")
            check(!isStopping, "spawned one beside \(index) while stopping")
            check(openRequests.contains(request), "spawned one beside \(index) without a request")
            successors[index] = .asked
            launches[index] = start
            successorIncarnations[index] = start
            successorsKilled[index] = false
        case .signalSuccessor(let index, let signal):
            check(successors[index] == .alive, "sent \(signal) to one beside \(index), which is not alive")
            check(!successorsKilled[index], "sent \(signal) to one beside \(index) after SIGKILL")
            if signal == .kill { successorsKilled[index] = true }
        case .adoptSpecification(let index, let request):
            check(openRequests.contains(request), "\(index) goes by a specification without a request")
        case .keepEvents(let index): check(processes[index] != .none, "keeps events of \(index), which is down")
        case .cutOver(let index, let start):
            check(processes[index] == .none, "one takes over from \(index), which lives")
            check(successors[index] == .alive, "one takes over from \(index) that does not live")
            check(successorIncarnations[index] == start, "the wrong one takes over from \(index)")
            check(!successorsKilled[index], "one takes over from \(index) that was killed")
            check(!isStopping, "one takes over from \(index) while stopping")
            check(!removed.contains(index), "one takes over from \(index), which was removed")
            processes[index] = .alive
            incarnations[index] = start
            killed[index] = false
            successors[index] = .none
        case .concludeReplacement(let request, _):
            check(openRequests.remove(request) != nil, "told the end of a replacement twice, or without a request")
        default: break
        }
    }

    private func note(_ action: SupervisorAction, after input: SupervisorInput) {
        func check(_ condition: Bool, _ what: @autoclosure () -> String) {
            if !condition { breaches.append("\(what()), after \(input)") }
        }
        switch action {
        case .spawn(let index, let start):
            check(processes[index] == .none, "spawned \(index) while it lives")
            check(start == launches[index] + 1, "start \(start) of \(index) is out of turn")
            check(!isStopping, "spawned \(index) while stopping")
            check(!removed.contains(index), "spawned \(index), which was removed")
            processes[index] = .asked
            incarnations[index] = start
            launches[index] = start
            killed[index] = false
        case .spawnSuccessor, .signalSuccessor, .adoptSpecification, .keepEvents, .cutOver, .concludeReplacement:
            noteReplacing(action, check)
        case .letEventsLeave(let index):
            check(processes[index] == .alive, "lets events leave for \(index), which is not alive")
        case .sendDrain(let index, _):
            check(processes[index] == .alive, "drained \(index), which is not alive")
            let last = processes.lastIndex { $0 != .none } ?? index
            check(!isStopping || last == index, "drained \(index) before \(last), which was started after it")
            check(!isEscalated, "drained \(index) in an escalated stop")
        case .watchDemand(let index):
            check(processes[index] == .none, "watches for demand for \(index), which is alive")
            check(!isStopping, "watches for demand for \(index) while stopping")
            check(!removed.contains(index), "watches for demand for \(index), which was removed")
            watched[index] = true
        case .signal(let index, let signal):
            check(processes[index] == .alive, "sent \(signal) to \(index), which is not alive")
            check(!killed[index], "sent \(signal) to \(index) after SIGKILL")
            if signal == .kill { killed[index] = true }
        case .startTimer(let token, let delay):
            check(delay >= .zero, "a timer of \(delay)")
            let isNew = !firedTimers.contains(token) && !timers.contains { $0.token == token }
            check(isNew, "a token was used twice")
            timers.append((token, now + delay))
        case .cancelTimer(let token):
            check(timers.contains { $0.token == token }, "cancelled a timer that does not run")
            timers.removeAll { $0.token == token }
        case .report(let index, let status, _): reported[index] = status
        case .finishStartup(let failure): startupResults.append(failure)
        case .announceAutomaticShutdown(let index):
            check(processes[index] == .none, "ended with \(index), which has not ended")
            check(!isStopping && !isStopped, "ended with \(index) while stopping")
            isStopping = answersAutomaticShutdown
        case .announceRemoval(let index):
            check(removed.contains(index), "removed \(index) without a request")
            check(gone.insert(index).inserted, "removed \(index) twice")
            check(processes[index] == .none && successors[index] == .none, "removed \(index), which lives")
            machine.forget(index)
        case .announceAllStopped:
            stopsAnnounced += 1
            check(gone == removed, "announced a stop while a caller waits for the end of one that is removed")
            check(isStopping, "announced a stop without a request")
            check((processes + successors).allSatisfy { $0 == .none }, "announced a stop while children live")
            check(openRequests.isEmpty, "announced a stop while a caller waits for a replacement")
            check(timers.isEmpty, "announced a stop while timers run")
            isStopping = false
            isEscalated = false
            isStopped = true
        }
    }

    private func checkStatus(after input: SupervisorInput) {
        let status = machine.status
        if status.indices.contains(where: { !gone.contains($0) && status[$0] != reported[$0] }) {
            breaches.append("a change of status was not reported, after \(input)")
        }
        for index in gone where status[index] != ChildStatus(name: names[index], state: .stopped) {
            breaches.append("\(index) is gone, and not forgotten, after \(input)")
        }
        for index in removed where processes[index] == .none && successors[index] == .none && !gone.contains(index) {
            breaches.append("\(index) is gone, and that was not told, after \(input)")
        }
        for (index, child) in status.enumerated() {
            if !isRight(child, at: index, among: status) {
                breaches.append("child \(index) is \(child.state) with \(processes[index]), after \(input)")
            }
            if (child.replacement != nil) != (successors[index] != .none) {
                breaches.append("the one beside \(index) is \(successors[index]), after \(input)")
            }
            if (child.ended != nil) != (processes[index] == .ended) {
                breaches.append("child \(index) has ended: \(String(describing: child.ended)), after \(input)")
            }
            if child.replacement?.isReady == true, successors[index] != .alive {
                breaches.append("the one beside \(index) is ready and \(successors[index]), after \(input)")
            }
            if child.deaths.count > ChildStatus.deathTallyLimit { breaches.append("too many deaths are kept") }
        }
    }

    /// Whether a child's state fits its process, and something is under way that leads out of that state.
    private func isRight(_ child: ChildStatus, at index: Int, among all: [ChildStatus]) -> Bool {
        switch child.state {
        case .notStarted, .stopped, .gaveUp: processes[index] == .none && child.pid == nil
        case .dormant: processes[index] == .none && child.pid == nil && watched[index]
        case .starting where processes[index] == .none:
            // Its turn in a sequence has not come: a child before it is under way.
            child.pid == nil && all[..<index].contains { !$0.state.isAtRest && $0.state != .ready }
        case .starting: processes[index] == .asked || processes[index] == .alive && !timers.isEmpty
        case .ready: processes[index] == .alive
        case .draining: processes[index] == .alive && !timers.isEmpty
        case .stopping where processes[index] == .ended: child.pid == nil && child.ended != nil
        case .stopping: processes[index] == .asked || processes[index] == .alive && (killed[index] || !timers.isEmpty)
        case .backingOff(_, .some): processes[index] == .none && !timers.isEmpty
        case .backingOff(_, nil):
            processes[index] == .none && all.contains { $0.state == .draining || $0.state == .stopping }
        }
    }
}

/// A child with round numbers and a back-off without jitter.
func child(
    _ name: String,
    restart: RestartType = .permanent,
    isSignificant: Bool = false,
    onDemand: OnDemand? = nil,
    backoff: Backoff = .exponential(jitter: 0),
    shutdown: ShutdownSequence = .draining()
) -> ChildSpecification {
    ChildSpecification(
        name,
        executable: .beside("worker"),
        restart: restart,
        isSignificant: isSignificant,
        onDemand: onDemand,
        backoff: backoff,
        shutdown: shutdown
    )
}

let segmentationFault = ExitReason.signaled(number: 11, coreDumped: false)
