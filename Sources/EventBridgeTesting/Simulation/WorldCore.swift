import DomainEvents
import EventBridge
import EventRouting
import Locks

/// The shared state of one world: its scheduler, its faults, and how often they happened.
final class WorldCore: @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.

    let scheduler: Scheduler
    /// The kinds of faults that this seed has.
    let faults: SimulationFaults
    /// Whether the faults are over: no new fault begins.
    private(set) var isCalm = false
    /// How often each kind of fault has happened, by its name.
    private(set) var met: [String: Int] = [:]
    private(set) var story: [StoryLine] = []
    /// The events that passed the router of a process, if passages are kept.
    private(set) var passages: [WorldTimeline.Passage] = []
    private let keepsPassages: Bool
    /// All processes that have been started.
    var processes: [SimulatedProcess] = []
    /// The entrance for clients; nil while no host lets them in.
    var entrance: SimulatedEntrance?
    /// The process of the operating system's own threads.
    private(set) lazy var system = scheduler.makeProcess(name: "system")
    private var numbers: [String: Int] = [:]
    /// For each worker, the ends that the test has planned for its next process.
    var doomed: [String: [Doom]] = [:]

    /// Whether the run is over; after that, what the threads of ended processes still do is ignored.
    var isSealed = false
    private(set) var record = ArrivalRecord()
    /// The hosts whose process lives, to be checked and shut down.
    var hosts: [Host] = []
    /// The workers and clients that break the protocol because the test asked for it.
    var mayViolate: Set<String> = []
    /// The first rule that was broken.
    private(set) var broken: String?
    private var always: [(name: String, holds: @Sendable () -> Bool)] = []
    private var sometimes: [(name: String, holds: @Sendable () -> Bool)] = []
    /// For each condition that must hold at some moment, whether it has held.
    private(set) var reached: [String: Bool] = [:]

    struct Host: Sendable {
        let bridge: BridgeHost
        let launcher: SimulatedLauncher
    }

    struct StoryLine: Sendable {
        let time: UInt64
        let what: What

        enum What: Sendable {
            case text(String)
            case arrival(name: String, EventContext, process: String)
        }

        var text: String {
            switch what {
            case .text(let text): return text
            case .arrival(let name, let context, let process):
                let again = context.attempt > 1 ? ", attempt \(context.attempt)" : ""
                return "\(process) gets \(name) \(context.id)\(again)"
            }
        }
    }

    /// The planned end of a worker's process when it gets an event.
    struct Doom: Sendable {
        let event: String
        let exit: SimulatedExit
        let subscribe: @Sendable (EventPublisher, @escaping @Sendable () -> Void) -> Subscription
    }

    init(scheduler: Scheduler, faults allowed: SimulationFaults, keepsPassages: Bool = false) {
        self.scheduler = scheduler
        self.keepsPassages = keepsPassages
        var faults = allowed
        for kind in 0..<SimulationFaults.kinds {
            // Two seeds in three have this kind of fault.
            let isOut =
                scheduler.choices.choose("swarm", UInt64(kind), below: 2) { $0.next(below: 3) == 0 ? 0 : 1 } == 0
            if isOut { faults.remove(SimulationFaults(rawValue: 1 << kind)) }
        }
        self.faults = faults
        scheduler.shuffles = scheduler.choices.choose("swarm", 100, below: 2) { $0.next(below: 4) == 0 ? 0 : 1 } == 1
        let exponent = scheduler.choices.choose("swarm", 101, below: 12) { $0.next(below: 12) }
        var rarity: UInt64 = 0
        if faults.contains(.clockJumps) {
            rarity = scheduler.choices.choose("swarm", 102, below: 8) { $0.next(below: 7) + 1 }
            scheduler.jump = { [unowned self] in jump() }
        }
        scheduler.interrupt(
            preempting: exponent == 0 ? 0 : 4 << exponent,
            jumping: rarity == 0 ? 0 : 64 << rarity
        )
    }

    /// Counts a new process of this name, and returns its number.
    func nextNumber(of name: String) -> Int {
        numbers[name, default: 0] += 1
        return numbers[name, default: 1]
    }

    func tell(_ text: String) {
        if isSealed { return }
        story.append(StoryLine(time: scheduler.now, what: .text(text)))
    }

    /// Fails the run for this reason; the first failure counts.
    func fail(_ reason: String) {
        guard broken == nil, !isSealed else { return }
        broken = reason
        tell(reason)
    }

    /// Makes the observer of the events that pass the router of a process.
    ///
    /// - Parameter mistake: called when an event arrives in the process; returns the rule that is broken, or nil.
    func tap(
        of process: String,
        _ mistake: @escaping @Sendable () -> String? = { nil }
    ) -> @Sendable (PassingEvent) -> Void {
        { [self] event in
            guard !isSealed else { return }
            if keepsPassages { keep(event) }
            guard event.sender != nil else {
                if let thread = scheduler.current() { record.published(event.context, on: thread.number) }
                return
            }
            story.append(
                StoryLine(time: scheduler.now, what: .arrival(name: event.name, event.context, process: process))
            )
            if let broken = record.arrived(event.name, event.context, at: process) ?? mistake() { fail(broken) }
            if record.count % 8 == 0 { for host in hosts { if let broken = audit(host) { fail(broken) } } }
            check()
        }
    }

    private func keep(_ event: PassingEvent) {
        guard let thread = scheduler.current() else { return }
        passages.append(
            WorldTimeline.Passage(
                time: scheduler.now,
                thread: thread.number,
                process: thread.process.number,
                name: event.name,
                context: event.context,
                sender: event.sender
            )
        )
    }

    /// How many events have arrived in all processes.
    var arrivals: Int { record.count }

    func always(_ name: String, _ holds: @escaping @Sendable () -> Bool) {
        always.append((name, holds))
        check()
    }

    func sometimes(_ name: String, _ holds: @escaping @Sendable () -> Bool) {
        sometimes.append((name, holds))
        reached[name] = false
        check()
    }

    /// Checks the conditions that must always hold, and notes which of the `sometimes` conditions hold now.
    func check() {
        if isSealed { return }
        for (name, holds) in always where !holds() { fail("it does not hold that \(name)") }
        for (name, holds) in sometimes where reached[name] == false && holds() { reached[name] = true }
    }

    func wasMet(_ fault: String) { if !isSealed { met[fault, default: 0] += 1 } }

    /// Chooses a value; the value is 0 if this seed has no faults of this kind, or the faults are over.
    func choose(
        _ kind: SimulationFaults,
        _ matter: String,
        _ index: UInt64,
        below bound: UInt64,
        draw: (inout SeededNumbers) -> UInt64
    ) -> UInt64 {
        guard faults.contains(kind), !isCalm else { return 0 }
        return scheduler.choices.choose(matter, index, below: bound, draw: draw)
    }

    // MARK: - Clocks

    /// Lets the clocks jump as the choices say.
    private func jump() {
        let longest: UInt64 = 30_000_000_000
        let value = scheduler.choices.choose("clock", scheduler.points, below: 3 * longest) { numbers in
            numbers.nextOfAnySize(upTo: longest - 1) * 3 + numbers.next(below: 3)
        }
        let length = value / 3
        guard length > 0 else { return }
        switch value % 3 {
        case 0: standStill(for: length)
        case 1: setWallClock(by: Int64(length) * 1_000)
        default: setWallClock(by: Int64(length) * -1_000)
        }
    }

    /// Sets the wall clock.
    func setWallClock(by nanoseconds: Int64) {
        wasMet("wall clock")
        tell("the wall clock is set by \(nanoseconds / 1_000_000) ms")
        scheduler.clock.wallOffset &+= UInt64(bitPattern: nanoseconds)
    }

    /// Stops the whole world for this time, like a paused virtual machine; work that became due runs right afterwards.
    func standStill(for nanoseconds: UInt64) {
        wasMet("standstill")
        tell("everything stands still for \(nanoseconds / 1_000) us")
        scheduler.clock.pass(nanoseconds)
    }

    /// Throws if the run is over; the error ends tasks that still run in ended processes.
    func checkOpen() throws { if isSealed { throw CancellationError() } }

    /// Ends all faults: stopped processes go on, and no process ends or stops by a fault any more.
    func calm() {
        guard !isCalm else { return }
        isCalm = true
        tell("the faults end")
        scheduler.interrupt(preempting: 0, jumping: 0)
        for process in scheduler.processes {
            process.forgetFates()
            process.isStopped = false
        }
    }
}

extension SeededNumbers {
    /// A number up to `bound`; each order of magnitude is about equally likely.
    mutating func nextOfAnySize(upTo bound: UInt64) -> UInt64 {
        let bits = UInt64(64 - bound.leadingZeroBitCount)
        let size = next(below: bits) + 1
        return min(bound, next() >> (64 - size))
    }
}
