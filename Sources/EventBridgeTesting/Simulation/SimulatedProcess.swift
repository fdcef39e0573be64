import Locks

/// The life of a process in a world, whatever its program is: the process may stand still or end at any step.
final class SimulatedProcess: @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.

    let name: String
    /// The number of this process among those with its name.
    let number: Int
    let process: WorldProcess
    /// The process's end of a stream, which the system closes once the process has ended; nil before there is a stream.
    var stream: FaultyStream?
    private(set) var exit: SimulatedExit?
    private let world: WorldCore
    /// The time at which the last of the stops so far ends: stops may overlap.
    private var standsUntil: UInt64 = 0
    /// Called once when the process ends.
    var whenEnded: (@Sendable () -> Void)?
    /// Frees the memory of the process, on a thread of its own; nil if there is nothing to free.
    private var burial: (@Sendable () -> Void)?

    init(name: String, number: Int, process: WorldProcess, in world: WorldCore) {
        self.name = name
        self.number = number
        self.process = process
        self.world = world
        world.processes.append(self)
    }

    var identifier: Int32 { process.identifier }

    var hasEnded: Bool { exit != nil }

    // MARK: - Ends and stops

    /// Ends the process at its present step.
    func end(_ exit: SimulatedExit, because reason: String) {
        guard self.exit == nil else { return }
        self.exit = exit
        world.tell("\(name) \(number) \(reason)")
        whenEnded.take()?()
        world.scheduler.kill(process)
    }

    /// Lets the process stand still, as SIGSTOP does.
    func standStill(for nanoseconds: UInt64) {
        let end = world.scheduler.now + nanoseconds
        world.wasMet("stop")
        world.tell("\(name) \(number) stands still for \(nanoseconds / 1_000) us")
        process.isStopped = true
        standsUntil = max(standsUntil, end)
        world.scheduler.at(end) { [self] in if end >= standsUntil { process.isStopped = false } }
    }

    /// Limits how many bytes the process reads in a second, from now on; 0 for no limit.
    func slow(to rate: UInt64) { stream?.slow(to: rate) }

    // MARK: - Choices of a seed

    /// Chooses the faults of a stream by two choices of `matter`, at the indices `first` and `first + 1`.
    static func faults(of matter: String, _ first: UInt64, in world: WorldCore) -> StreamFaults {
        StreamFaults(
            pieces: world.choose(.splits, matter, first, below: 4_096) { $0.nextOfAnySize(upTo: 4_095) },
            delay: world.choose(.delays, matter, first + 1, below: 20_000_000) { $0.nextOfAnySize(upTo: 20_000_000) },
            seed: world.scheduler.choices.seed &+ first
        )
    }

    /// Chooses how many bytes the process reads in a second; 0 for no limit.
    static func rate(of name: String, _ number: Int, in world: WorldCore) -> UInt64 {
        let exponent = world.choose(.slowReaders, "slow:\(name)", UInt64(number), below: 13) { numbers in
            numbers.next(below: 2) == 0 ? 0 : numbers.next(below: 12) + 1
        }
        return exponent == 0 ? 0 : 128 << exponent
    }

    /// Chooses how many bytes a stream holds.
    static func capacity(of matter: String, _ index: UInt64, in world: WorldCore) -> Int {
        let narrow = world.choose(.narrowStreams, matter, index, below: 16) { $0.next(below: 16) }
        return narrow == 0 ? 200 << 10 : 64 << narrow
    }

    /// Chooses whether the process ends or stands still by itself, and at which of its steps.
    func decideFate(_ matter: String, _ first: UInt64) {
        let crash = point(.crashes, matter, first + 2, oneIn: 3)
        let stop = point(.stops, matter, first + 3, oneIn: 2)
        let signals: [Int32] = [9, 11, 6, 15]
        let signal = signals[Int(world.choose(.crashes, matter, first + 4, below: 4) { $0.next(below: 4) })]
        let length = world.choose(.stops, matter, first + 5, below: 10_000_000_000) {
            $0.nextOfAnySize(upTo: 9_999_999_999)
        }
        let exit = point(.exits, "exit:\(name)", first, oneIn: 2)
        let chosen = Int32(world.choose(.exits, "exit:\(name)", first + 1, below: 256) { $0.next(below: 256) })
        // With status 78 a process asks not to be started again, so 78 is left out.
        let status = chosen == 78 ? 70 : chosen
        meet(crash) { [self] in
            world.wasMet("crash")
            end(.signal(signal), because: "crashes with signal \(signal)")
        }
        meet(exit) { [self] in
            world.wasMet("exit")
            end(.status(status), because: "exits with status \(status)")
        }
        meet(stop) { [self] in standStill(for: length) }
    }

    /// Chooses the step at which a fault of this kind happens, or 0 for no fault, as at least one in `tame` seeds does.
    func point(_ kind: SimulationFaults, _ matter: String, _ index: UInt64, oneIn tame: UInt64) -> UInt64 {
        world.choose(kind, matter, index, below: 1 << 14) { numbers in
            numbers.next(below: tame) == 0 ? 0 : numbers.nextOfAnySize(upTo: (1 << 14) - 1)
        }
    }

    func meet(_ point: UInt64, _ act: @escaping @Sendable () -> Void) {
        if point > 0 { process.meet(point, act) }
    }

    // MARK: - Afterwards

    /// Sets the call that frees the memory of the process when the run is over.
    func buried(by burial: @escaping @Sendable () -> Void) { self.burial = burial }

    /// Lets the threads of an ended process end; called when the run is over.
    func bury() {
        // `burial` and the owner of this process refer to each other, so `burial` is taken out even if the process
        // lives.
        guard let burial = burial.take(), exit != nil else { return }
        world.scheduler.revive(process)
        _ = world.scheduler.start(name: "undertaker", in: process, burial)
    }
}
