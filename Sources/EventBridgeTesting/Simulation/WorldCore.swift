import DomainEvents
import EventBridge
import EventRouting
import Locks

/// What the parts of one world share: its scheduler, its faults, and what was met of them.
final class WorldCore: @unchecked Sendable {
    // Sendable: everything mutable belongs to whichever thread has the world's baton.

    let scheduler: Scheduler
    /// The kinds of faults that this seed has.
    let faults: SimulationFaults
    /// No fault begins any more.
    private(set) var isCalm = false
    /// How often something went wrong.
    private(set) var met: [String: Int] = [:]
    private(set) var story: [StoryLine] = []
    /// What has passed the router of a process; only if it is kept.
    private(set) var passages: [WorldTimeline.Passage] = []
    private let keepsPassages: Bool
    /// All that there were.
    var processes: [SimulatedProcess] = []
    /// Where clients attach; nil while there is no host that lets them.
    var entrance: SimulatedEntrance?
    /// What the operating system does.
    private(set) lazy var system = scheduler.makeProcess(name: "system")
    private var numbers: [String: Int] = [:]
    /// By hand: the next start of a worker ends there.
    var doomed: [String: [Doom]] = [:]

    /// The run is over: what processes that have ended do while they are buried counts for nothing.
    var isSealed = false
    private(set) var record = ArrivalRecord()
    /// Those that live, and those in which something goes on yet.
    var hosts: [Host] = []
    /// Workers that break the protocol by hand.
    var mayViolate: Set<String> = []
    /// What did not hold, first of all.
    private(set) var broken: String?
    private var always: [(name: String, holds: @Sendable () -> Bool)] = []
    private var sometimes: [(name: String, holds: @Sendable () -> Bool)] = []
    /// What was to hold at some time, and whether it ever did.
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

    /// What is to be done to a worker when something happens in it.
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
            // Of each kind two seeds in three have some.
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

    /// The number of the next process of this name.
    func nextNumber(of name: String) -> Int {
        numbers[name, default: 0] += 1
        return numbers[name, default: 1]
    }

    func tell(_ text: String) {
        if isSealed { return }
        story.append(StoryLine(time: scheduler.now, what: .text(text)))
    }

    /// Something does not hold; the first counts.
    func fail(_ reason: String) {
        guard broken == nil, !isSealed else { return }
        broken = reason
        tell(reason)
    }

    /// Told of what passes the router of a process.
    ///
    /// - Parameter mistake: says what does not hold when an event arrives there.
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

    /// How many events have arrived anywhere.
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

    /// Looks whether what is always to hold does, and what is to hold at some time.
    func check() {
        if isSealed { return }
        for (name, holds) in always where !holds() { fail("it does not hold that \(name)") }
        for (name, holds) in sometimes where reached[name] == false && holds() { reached[name] = true }
    }

    func wasMet(_ fault: String) { if !isSealed { met[fault, default: 0] += 1 } }

    /// A value that is 0 unless this seed has faults of this kind.
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

    /// Sets the clock that people read.
    func setWallClock(by nanoseconds: Int64) {
        wasMet("wall clock")
        tell("the wall clock is set by \(nanoseconds / 1_000_000) ms")
        scheduler.clock.wallOffset &+= UInt64(bitPattern: nanoseconds)
    }

    /// Lets nothing at all run for a while, as a virtual machine that is held: what becomes due meanwhile is due at
    /// once.
    func standStill(for nanoseconds: UInt64) {
        wasMet("standstill")
        tell("everything stands still for \(nanoseconds / 1_000) us")
        scheduler.clock.pass(nanoseconds)
    }

    /// Throws if the run is over: what goes on in the processes that are buried then ends.
    func checkOpen() throws { if isSealed { throw CancellationError() } }

    /// From now on everything works as it should: what is stopped goes on, and nothing ends or stops any more.
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
    /// A number up to `bound`, small ones as likely as large ones.
    mutating func nextOfAnySize(upTo bound: UInt64) -> UInt64 {
        let bits = UInt64(64 - bound.leadingZeroBitCount)
        let size = next(below: bits) + 1
        return min(bound, next() >> (64 - size))
    }
}
