import BridgePlatform
import Locks

/// Decides which of a world's threads runs, and what time it is.
///
/// Exactly one thread runs at a time: it has the baton. It hands the baton on where it would wait, and sometimes where
/// it takes a lock; the world's choices decide which thread gets the baton. When no thread can go on, time jumps to the
/// next deadline. If there is no deadline, the world has ended or is in a deadlock.
///
/// A thread that holds a lock keeps the baton until it has given all locks back, or has to wait. No code waits in the
/// middle of a change that a lock guards. So a process that ends holds no lock that others need.
final class Scheduler: @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the baton.

    /// The way in which a world ended.
    enum End: Sendable, Equatable {
        /// The world was closed, and nothing can go on.
        case finished
        /// Nothing can go on; these threads wait.
        case deadlock([String])
        /// The world has exceeded its limit of time or of steps.
        case exhausted(String)
    }

    struct Limits: Sendable {
        var points: UInt64 = 20_000_000
        var nanoseconds: UInt64 = 24 * 3_600 * 1_000_000_000
    }

    static let beginning: UInt64 = 1_000_000_000_000

    @exclusivity(unchecked) var clock: WorldClock
    var choices: Choices
    @exclusivity(unchecked) private(set) var points: UInt64 = 0
    @exclusivity(unchecked) private(set) var switches: UInt64 = 0
    @exclusivity(unchecked) private(set) var trace = Trace()
    private(set) var processes: [WorldProcess] = []
    /// The process whose code is the test.
    private(set) lazy var host = makeProcess(name: "host")
    @exclusivity(unchecked) private(set) var threads: [WorldThread] = []
    /// The threads that wait for their turn; the one that has waited longest is first.
    @exclusivity(unchecked) var ready: [WorldThread] = []
    /// The threads that wait for something; the one that has waited longest is first.
    @exclusivity(unchecked) var waiting: [WorldThread] = []
    @exclusivity(unchecked) var lockWaiters = 0
    @exclusivity(unchecked) var picks: UInt64 = 0
    private var randomNumbers: SeededNumbers
    private var lastThread = 0
    private let limits: Limits

    /// The points at which a thread is pre-empted.
    @exclusivity(unchecked) private var preemptions = RarePoints("preemption")
    /// The points at which the clocks jump.
    @exclusivity(unchecked) private var clockJumps = RarePoints("clock")
    /// Called at points at which the clocks jump.
    var jump: @Sendable () -> Void = {}
    /// Whether any ready thread may be next; if false, the thread that has been ready longest is next.
    var shuffles = false

    @exclusivity(unchecked) private var ending = Ending()
    /// The places in code where tasks were handed to executors outside every world.
    private(set) var escapes: [String] = []
    /// How long the world has waited for work that had left it, in nanoseconds, as ``comesFromOutside()`` counts.
    @exclusivity(unchecked) private(set) var waitedOutside: UInt64 = 0
    private let living = ThreadCount()

    let inbox = TaskInbox()

    /// The stages of a world's end.
    private struct Ending {
        /// Whether threads end when they have nothing to do.
        var isClosing = false
        var end: End?
        var isAbandoned = false
        let ended = Baton()
        /// Whether the threads are being asked for their places in code.
        var isAsking = false
        let answered = Baton()
    }

    init(choices: Choices, limits: Limits = Limits(), keepsTrace: Bool = false, keepsTurns: Bool = false) {
        self.choices = choices
        self.limits = limits
        clock = WorldClock(from: Self.beginning, seed: choices.seed)
        randomNumbers = SeededNumbers(seed: choices.seed, name: "randomness")
        trace.keepsEntries = keepsTrace
        trace.keepsTurns = keepsTurns
    }

    // MARK: - From outside

    /// Runs the world, with `body` on the first thread of the host's process; returns when the world has ended.
    ///
    /// The caller is a thread outside the world.
    func run(_ body: @escaping @Sendable () -> Void = {}) -> End {
        _ = start(name: "main", in: host, body)
        handOn(from: nil)
        ending.ended.take()
        let left = threads.filter { $0.state != .ended }
        if ending.end != .finished { ask(left) }
        ending.isAbandoned = true
        for thread in left { thread.baton.handOver() }
        living.waitUntilNone()
        threads = []
        // The work that is left in a process's queues may refer to the process.
        for process in processes { process.queues = [:] }
        processes = []
        clock.alarms.removeAll()
        (ready, waiting) = ([], [])
        return ending.end ?? .finished
    }

    /// Asks each thread for its place in code, and adds the places to the world's end.
    private func ask(_ threads: [WorldThread]) {
        ending.isAsking = true
        for thread in threads where thread.hasBegun {
            thread.baton.handOver()
            ending.answered.take()
        }
        ending.isAsking = false
        let places = describe(threads)
        switch ending.end {
        case .deadlock: ending.end = .deadlock(places)
        case .exhausted(let reason): ending.end = .exhausted(([reason] + places).joined(separator: "\n  "))
        default: break
        }
    }

    /// How many threads still existed at the end.
    private(set) var leftThreads = 0

    // MARK: - Processes and threads

    func makeProcess(name: String) -> WorldProcess {
        let process = WorldProcess(number: processes.count, name: name, scheduler: self)
        processes.append(process)
        return process
    }

    func start(name: String, in process: WorldProcess, _ body: @escaping @Sendable () -> Void) -> WorldThread {
        lastThread += 1
        let thread = WorldThread(self, number: lastThread, name: name, process: process)
        threads.append(thread)
        ready.append(thread)
        trace.note(.start, thread, now)
        living.began()
        let begin = ThreadBody(body)
        let run: @Sendable () -> Void = { [self] in
            thread.baton.take()
            if !ending.isAbandoned {
                thread.hasBegun = true
                Simulation.run(as: thread) { begin.run() }
                finished(thread)
            }
            living.ended()
        }
        Simulation.outside {
            do {
                try PlatformThread.start(name: name, run)
            } catch {
                fatalError("A simulation cannot go on: \(error)")
            }
        }
        return thread
    }

    private func finished(_ thread: WorldThread) {
        if ending.isAbandoned { return }
        thread.state = .ended
        trace.note(.end, thread, now)
        wake(.end(of: thread.number), all: true)
        threads.removeAll { $0 === thread }
        handOn(from: thread)
    }

    func join(_ thread: WorldThread) {
        guard let current = current(), thread.state != .ended else { return }
        _ = wait(current, for: .end(of: thread.number), until: nil)
    }

    /// Runs `body` on the calling thread as a thread of another process.
    func asProcess<R>(_ process: WorldProcess, _ body: () throws -> R) rethrows -> R {
        guard let thread = current() else { return try body() }
        let before = thread.process
        thread.process = process
        defer { thread.process = before }
        return try body()
    }

    /// The calling thread; nil if the caller is no thread of this world.
    func current() -> WorldThread? {
        let thread = Simulation.thread as? WorldThread
        return thread?.scheduler === self ? thread : nil
    }

    // MARK: - Points

    /// Marks a point at which another thread may go on.
    func point(_ thread: WorldThread) {
        step(.point, thread)
        let process = thread.process
        process.points += 1
        if !process.fates.isEmpty, let act = process.takeFate() { act() }
        if clockJumps.hasCome(at: points, by: &choices) { jump() }
        guard process.runs else {
            // The thread is last of the ready threads; it runs on when its process goes on, or never.
            ready.append(thread)
            thread.state = .ready
            return handOn(from: thread)
        }
        guard preemptions.hasCome(at: points, by: &choices) else { return }
        let candidates = UInt64(readyCount)
        guard candidates > 0 else { return }
        guard choices.choose("preemption", points, below: 2, draw: { _ in 1 }) == 1 else { return }
        ready.append(thread)
        thread.state = .ready
        handOn(from: thread)
    }

    func step(_ kind: Trace.Kind, _ thread: WorldThread) {
        points += 1
        clock.step()
        trace.note(kind, thread, now)
        if points > limits.points { give(up: "more than \(limits.points) steps", thread) }
    }

    private func give(up reason: String, _ thread: WorldThread) {
        if ending.end == nil { ending.end = .exhausted(reason) }
        leftThreads = threads.count
        ending.ended.handOver()
        takeBaton(thread)
    }

    /// Returns when the thread has its turn.
    private func takeBaton(_ thread: WorldThread) {
        thread.baton.take()
        while ending.isAsking {
            thread.place = Self.place()
            ending.answered.handOver()
            thread.baton.take()
        }
        if ending.isAbandoned { leave() }
    }

    /// The place of the calling thread in code that is not the simulation's own.
    static func place() -> String {
        let own = ["EventBridgeTesting", "Locks", "BridgePlatform"]
        return CallPlace.functions(outside: own, atMost: 3).joined(separator: ", called by ")
    }

    /// Ends this thread, because the world has ended.
    private func leave() -> Never {
        Simulation.leave()
        living.ended()
        endThisThread()
    }

    // MARK: - What becomes due

    /// Calls `act` at `time`, on the thread that has the baton then.
    func at(_ time: UInt64, _ act: @escaping @Sendable () -> Void) { clock.alarms.set(time, .act(act)) }

    func callLater(after nanoseconds: UInt64, in process: WorldProcess, _ body: @escaping @Sendable () -> Void) {
        let (time, isBeyondTime) = now.addingReportingOverflow(nanoseconds)
        clock.alarms.set(isBeyondTime ? .max : time, .call(process, body))
    }

    // MARK: - Time and chance

    var now: UInt64 { clock.now }

    func readTime() -> UInt64 { clock.read() }

    /// Sets the average number of points between two pre-emptions, and between two jumps of the clocks; 0 for none.
    func interrupt(preempting preemption: UInt64, jumping clockJump: UInt64) {
        preemptions.set(average: preemption, behind: points, by: &choices)
        clockJumps.set(average: clockJump, behind: points, by: &choices)
    }

    func random() -> UInt64 { randomNumbers.next() }

    /// Notes that work leaves the world at this place; no seed decides what that work does.
    func escapes(at place: String) { if escapes.count < 16, !escapes.contains(place) { escapes.append(place) } }

    // MARK: - The baton

    private var readyCount: Int { ready.count { $0.process.runs } }

    /// Gives the baton to the next thread; returns when `thread` has it again, at once if `thread` is nil or has ended.
    func handOn(from thread: WorldThread?) {
        // Read before the baton is handed on, because the next thread may wake `thread` and so change its state.
        let waiting = thread.flatMap { $0.state == .ended ? nil : $0 }
        let next = pick()
        guard let next else {
            conclude()
            if let waiting { takeBaton(waiting) }
            return
        }
        next.state = .runs
        if next === thread { return }
        switches += 1
        clock.threadChanged()
        trace.note(.run, next, now)
        next.baton.handOver()
        if let waiting { takeBaton(waiting) }
    }

    private func pick() -> WorldThread? {
        while ending.end == nil {
            takeInbox()
            ring()
            let candidates = readyCount
            if candidates > 0 {
                var chosen: UInt64 = 0
                if candidates > 1 {
                    picks += 1
                    let shuffles = shuffles
                    chosen = choices.choose("thread", picks, below: UInt64(candidates)) { numbers in
                        shuffles ? numbers.next(below: UInt64(candidates)) : 0
                    }
                }
                var left = chosen
                let index = ready.firstIndex { thread in
                    guard thread.process.runs else { return false }
                    if left == 0 { return true }
                    left -= 1
                    return false
                }
                if let index { return ready.remove(at: index) }
            }
            guard let next = clock.alarms.next() else {
                if comesFromOutside() { continue }
                return nil
            }
            if next - Self.beginning > limits.nanoseconds {
                ending.end = .exhausted("more than \(Duration.nanoseconds(limits.nanoseconds)) of its time")
                return nil
            }
            clock.jump(to: next)
        }
        return nil
    }

    /// How long one wait for work outside the world may take, in nanoseconds.
    private static let patience: UInt64 = 3_000_000_000
    /// How much of the patience one look takes at most, in nanoseconds.
    private static let longestLook: UInt64 = 10_000_000

    /// Waits for work that has left the world, in real time; returns whether work came back.
    private func comesFromOutside() -> Bool {
        guard !escapes.isEmpty, !ending.isClosing else { return false }
        var hasCome = false
        Simulation.outside {
            var budget = LookBudget(Self.patience, longestLook: Self.longestLook, from: MonotonicClock.now())
            while inbox.isEmpty, !budget.isSpent {
                yieldThread()
                budget.looked(at: MonotonicClock.now())
            }
            hasCome = !inbox.isEmpty
            waitedOutside += budget.spent
        }
        return hasCome
    }

    /// Acts on the alarms that are due.
    private func ring() {
        while let time = clock.alarms.next(), time <= now, let due = clock.alarms.takeNext() {
            switch due {
            case .wait(let thread, _):
                thread.isOverdue = true
                thread.state = .ready
                waiting.removeAll { $0 === thread }
                ready.append(thread)
            case .call(let process, let body): add(.call(body), to: process)
            case .act(let act): act()
            }
        }
    }

    private func conclude() {
        if ending.end == nil { ending.end = ending.isClosing ? .finished : .deadlock([]) }
        leftThreads = threads.count
        ending.ended.handOver()
    }

    private func describe(_ threads: [WorldThread]) -> [String] {
        threads.filter { $0.state != .ended && !($0.state == .waits(for: .work)) }.map { thread in
            let state = thread.process.isDead ? "ended" : "\(thread.state)"
            let place = thread.place.isEmpty ? "" : " in \(thread.place)"
            return "\(thread.process.name)/\(thread.name) \(thread.number) \(state)\(place)"
        }
    }

    // MARK: - Ends

    var isClosing: Bool { ending.isClosing }

    /// Lets each thread end when it has nothing to do; the world ends when no thread can go on.
    func close() {
        ending.isClosing = true
        wake(.work, all: true)
        for process in processes { process.executor.idle = [] }
    }
}
