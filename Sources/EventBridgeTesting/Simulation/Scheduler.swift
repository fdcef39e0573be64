import BridgePlatform
import Locks

/// Decides which of a world's threads runs, and what time it is.
///
/// Exactly one thread has the baton. It hands it on where it would wait, and now and then where it takes a lock; the choices say to whom.
/// When none can go on, time jumps to the next deadline; where there is none, the world has come to its end or into a deadlock.
///
/// A thread that holds a lock goes on until it has given all back: what locks guard can be seen by others at those moments only, and a
/// process that ends leaves no lock behind that others need.
final class Scheduler: @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the baton; `inbox` is guarded by its lock.

    /// How a world came to its end.
    enum End: Sendable, Equatable {
        /// Everything that was started has ended.
        case finished
        /// Nothing can go on, and this is what waits.
        case deadlock([String])
        /// More has happened than may.
        case exhausted(String)
    }

    struct Limits: Sendable {
        var points: UInt64 = 20_000_000
        var nanoseconds: UInt64 = 24 * 3_600 * 1_000_000_000
    }

    static let beginning: UInt64 = 1_000_000_000_000

    @exclusivity(unchecked) var now = Scheduler.beginning
    /// What the wall clock shows beyond the monotonic one: it begins in the year 2030.
    var wallOffset: UInt64 = 1_893_456_000_000_000_000 - Scheduler.beginning
    var choices: Choices
    @exclusivity(unchecked) private(set) var points: UInt64 = 0
    @exclusivity(unchecked) private(set) var switches: UInt64 = 0
    @exclusivity(unchecked) private(set) var trace = Trace()
    private(set) var processes: [WorldProcess] = []
    /// The process whose code the test is.
    private(set) lazy var host = makeProcess(name: "host")
    @exclusivity(unchecked) private(set) var threads: [WorldThread] = []
    /// Those that wait for their turn, longest first.
    @exclusivity(unchecked) var ready: [WorldThread] = []
    /// Those that wait for something, longest first.
    @exclusivity(unchecked) var waiting: [WorldThread] = []
    @exclusivity(unchecked) var lockWaiters = 0
    @exclusivity(unchecked) var alarms = AlarmClock()
    @exclusivity(unchecked) var picks: UInt64 = 0
    @exclusivity(unchecked) private var nextPreemption: UInt64?
    @exclusivity(unchecked) private var timeNumbers: SeededNumbers
    private var randomNumbers: SeededNumbers
    private var lastThread = 0
    var queues: [ObjectIdentifier: QueueLine] = [:]
    private let limits: Limits

    /// How many points there are between two pre-emptions on average; 0 for none.
    var preemption: UInt64 = 0 {
        didSet { nextPreemption = choices.nextPlace("preemption", behind: points, average: preemption) }
    }
    /// How many points there are between two jumps of the clocks on average; 0 for none.
    var clockJumps: UInt64 = 0 {
        didSet { nextClockJump = choices.nextPlace("clock", behind: points, average: clockJumps) }
    }
    @exclusivity(unchecked) private var nextClockJump: UInt64?
    /// Lets the clocks jump.
    var jump: @Sendable () -> Void = {}
    /// Whether any of those that are ready may be next, instead of the one that is so for longest.
    var shuffles = false

    /// Threads that have nothing to do end.
    var isClosing = false
    private(set) var end: End?
    private(set) var isAbandoned = false
    private let ended = Baton()
    private var isAsking = false
    private let answered = Baton()
    /// Where tasks were handed to executors that no world decides about.
    private(set) var escapes: [String] = []
    private let living = ThreadCount()

    let inboxLock = Lock()
    var inbox: [(process: Int, job: UnownedJob)] = []

    struct QueueLine {
        let owner: any AnyObject & Sendable
        var work: [@Sendable () -> Void]
    }

    init(choices: Choices, limits: Limits = Limits(), keepsTrace: Bool = false, keepsTurns: Bool = false) {
        self.choices = choices
        self.limits = limits
        timeNumbers = SeededNumbers(seed: choices.seed, name: "time")
        randomNumbers = SeededNumbers(seed: choices.seed, name: "randomness")
        trace.keepsEntries = keepsTrace
        trace.keepsTurns = keepsTurns
    }

    // MARK: - From outside

    /// Runs the tasks that the host's process was given, and `body` as its first thread; returns when the world has come to its end.
    ///
    /// On a thread outside.
    func run(_ body: @escaping @Sendable () -> Void = {}) -> End {
        _ = start(name: "main", in: host, body)
        handOn(from: nil)
        ended.take()
        let left = threads.filter { $0.state != .ended }
        if end != .finished { ask(left) }
        isAbandoned = true
        for thread in left { thread.baton.handOver() }
        living.waitUntilNone()
        threads = []
        processes = []
        queues = [:]
        alarms.removeAll()
        (ready, waiting) = ([], [])
        return end ?? .finished
    }

    /// Has each thread that waits say where it stands.
    private func ask(_ threads: [WorldThread]) {
        isAsking = true
        for thread in threads where thread.hasBegun {
            thread.baton.handOver()
            answered.take()
        }
        isAsking = false
        let places = describe(threads)
        switch end {
        case .deadlock: end = .deadlock(places)
        case .exhausted(let reason): end = .exhausted(([reason] + places).joined(separator: "\n  "))
        default: break
        }
    }

    /// How many threads were still there at the end.
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
            if !isAbandoned {
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
        if isAbandoned { return }
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

    /// Runs `body` on the calling thread as one of another process.
    func asProcess<R>(_ process: WorldProcess, _ body: () throws -> R) rethrows -> R {
        guard let thread = current() else { return try body() }
        let before = thread.process
        thread.process = process
        defer { thread.process = before }
        return try body()
    }

    /// The calling thread, which has the baton.
    func current() -> WorldThread? {
        let thread = Simulation.thread as? WorldThread
        return thread?.scheduler === self ? thread : nil
    }

    // MARK: - Points

    /// A place at which another thread may go on.
    func point(_ thread: WorldThread) {
        step(.point, thread)
        let process = thread.process
        process.points += 1
        if !process.fates.isEmpty, let act = process.takeFate() { act() }
        if let next = nextClockJump, points >= next {
            nextClockJump = choices.nextPlace("clock", behind: points, average: clockJumps)
            jump()
        }
        guard process.runs else {
            // Behind whoever is ready: until it is continued, or for ever.
            ready.append(thread)
            thread.state = .ready
            return handOn(from: thread)
        }
        guard let next = nextPreemption, points >= next else { return }
        nextPreemption = choices.nextPlace("preemption", behind: points, average: preemption)
        let candidates = UInt64(readyCount)
        guard candidates > 0 else { return }
        guard choices.choose("preemption", points, below: 2, draw: { _ in 1 }) == 1 else { return }
        ready.append(thread)
        thread.state = .ready
        handOn(from: thread)
    }

    func step(_ kind: Trace.Kind, _ thread: WorldThread) {
        points += 1
        now += 40 + timeNumbers.next() & 63
        trace.note(kind, thread, now)
        if points > limits.points { give(up: "more than \(limits.points) steps", thread) }
    }

    private func give(up reason: String, _ thread: WorldThread) {
        if end == nil { end = .exhausted(reason) }
        leftThreads = threads.count
        ended.handOver()
        takeBaton(thread)
    }

    /// Returns when it is the thread's turn.
    private func takeBaton(_ thread: WorldThread) {
        thread.baton.take()
        while isAsking {
            thread.place = Self.place()
            answered.handOver()
            thread.baton.take()
        }
        if isAbandoned { leave() }
    }

    /// Where the calling thread stands in code that is not the simulation's own.
    static func place() -> String {
        let own = ["EventBridgeTesting", "Locks", "BridgePlatform"]
        return CallPlace.functions(outside: own, atMost: 3).joined(separator: ", called by ")
    }

    /// The world has ended, and with it this thread.
    private func leave() -> Never {
        Simulation.leave()
        living.ended()
        endThisThread()
    }

    // MARK: - What becomes due

    /// Does `act` at that time, whichever thread has the baton then.
    func at(_ time: UInt64, _ act: @escaping @Sendable () -> Void) { alarms.set(time, .act(act)) }

    func callLater(after nanoseconds: UInt64, in process: WorldProcess, _ body: @escaping @Sendable () -> Void) {
        let (time, isBeyondTime) = now.addingReportingOverflow(nanoseconds)
        alarms.set(isBeyondTime ? .max : time, .call(process, body))
    }

    // MARK: - Time and chance

    func readTime() -> UInt64 {
        now += 20
        return now
    }

    func random() -> UInt64 { randomNumbers.next() }

    /// Something leaves the world: what it does is decided by nobody.
    func escapes(at place: String) { if escapes.count < 16, !escapes.contains(place) { escapes.append(place) } }

    // MARK: - The baton

    private var readyCount: Int { ready.count { $0.process.runs } }

    /// Gives the baton to the next thread, and returns when `thread` has it again.
    func handOn(from thread: WorldThread?) {
        // Read while the baton is here: the thread that has it next may wake this one.
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
        now += 1_500 + timeNumbers.next() & 2_047
        trace.note(.run, next, now)
        next.baton.handOver()
        if let waiting { takeBaton(waiting) }
    }

    private func pick() -> WorldThread? {
        while end == nil {
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
            guard let next = alarms.next() else {
                if comesFromOutside() { continue }
                return nil
            }
            if next > limits.nanoseconds + Self.beginning {
                end = .exhausted("more than \(limits.nanoseconds / 1_000_000_000) s of its time")
                return nil
            }
            now = max(now, next)
        }
        return nil
    }

    /// Whether something that has left the world gives it something to do, within a second of real time.
    private func comesFromOutside() -> Bool {
        guard !escapes.isEmpty, !isClosing else { return false }
        var hasCome = false
        Simulation.outside {
            let end = MonotonicClock.now() + 1_000_000_000
            while !hasCome, MonotonicClock.now() < end {
                yieldThread()
                hasCome = hasInbox
            }
        }
        return hasCome
    }

    /// Does what is due.
    private func ring() {
        while let time = alarms.next(), time <= now, let due = alarms.takeNext() {
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
        if end == nil { end = isClosing ? .finished : .deadlock([]) }
        leftThreads = threads.count
        ended.handOver()
    }

    private func describe(_ threads: [WorldThread]) -> [String] {
        threads.filter { $0.state != .ended && !($0.state == .waits(for: .work)) }.map { thread in
            let state = thread.process.isDead ? "ended" : "\(thread.state)"
            let place = thread.place.isEmpty ? "" : " in \(thread.place)"
            return "\(thread.process.name)/\(thread.name) \(thread.number) \(state)\(place)"
        }
    }

    // MARK: - Ends

    /// Threads that have nothing to do end, and the world with the last one.
    func close() {
        isClosing = true
        wake(.work, all: true)
        for process in processes { process.executor.idle = [] }
    }
}
