import BridgePlatform
import ChaosLedger
import EventBridge
import Supervision

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Kills, stops and continues workers at random, and tells handlers to go wrong.
struct Killer {
    private let bridge: BridgeHost
    private let watch: WorkerWatch
    private let board: Board
    private let mischief: Mischief
    private var random: SplitMix64
    private(set) var histogram = Histogram()
    private(set) var stops = 0
    private(set) var earlyKills = 0
    private var turns = 0

    /// Each kill waits until much is on its way, but for one of so many, which takes the worker as it is.
    private static let turnsBetweenIdleKills = 10

    init(bridge: BridgeHost, watch: WorkerWatch, board: Board, mischief: Mischief, seed: UInt64) {
        self.bridge = bridge
        self.watch = watch
        self.board = board
        self.mischief = mischief
        random = SplitMix64(seed: seed)
    }

    /// - Returns: False if something went wrong that makes going on useless.
    mutating func kill() -> Bool {
        let worker = Bool.random(using: &random) ? Party.a.name : Party.b.name
        guard let process = watch.waitForProcess(of: worker) else { return false }
        makeMischief()
        pause()
        turns += 1
        if !turns.isMultiple(of: Self.turnsBetweenIdleKills) { guard waitForLoad(of: worker) else { return false } }
        // A worker that is stopped dies of SIGKILL all the same.
        if Int.random(in: 0..<4, using: &random) == 0 { stop(process) }
        kill(process, of: worker)
        if Int.random(in: 0..<10, using: &random) == 0 { killEarly(worker, after: process) }
        return true
    }

    /// Kills both workers, which is to happen at rest, and waits until they are back: no link then holds on to memory for a load that
    /// it once had.
    func renewAll() {
        for party in [Party.a, .b] {
            guard let process = watch.waitForProcess(of: party.name) else { return }
            watch.forget(party.name)
            _ = Signal.send(SIGKILL, to: process)
        }
        for party in [Party.a, .b] { _ = watch.waitForProcess(of: party.name) }
    }

    private mutating func makeMischief() {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: mischief.refuse(next: Int.random(in: 1...20, using: &random))
        case 1:
            mischief.delay(
                next: Int.random(in: 1...20, using: &random),
                by: UInt32.random(in: 50...1_000, using: &random)
            )
        case 2: mischief.delay(next: 1, by: UInt32.random(in: 1_000...10_000, using: &random))
        default: return
        }
    }

    /// Mostly so short that much is on its way, sometimes so long that the worker catches up.
    private mutating func pause() {
        let milliseconds = Int.random(in: 0..<8, using: &random) == 0 ? 40 : 12
        usleep(UInt32.random(in: 0...UInt32(milliseconds * 1_000), using: &random))
    }

    /// Whether a kill meets events on their way is not left to chance: a run of few kills would sometimes prove little.
    private func waitForLoad(of worker: String) -> Bool {
        while eventsOnTheirWay(to: worker) < Histogram.leastLoad {
            guard watch.found.unexpected.isEmpty else { return false }
            usleep(200)
        }
        return true
    }

    private func eventsOnTheirWay(to worker: String) -> Int {
        bridge.leftovers.first { $0.worker == worker }?.events ?? 0
    }

    private mutating func stop(_ process: Int32) {
        stops += 1
        _ = Signal.send(SIGSTOP, to: process)
        usleep(UInt32.random(in: 0...8_000, using: &random))
        guard Int.random(in: 0..<3, using: &random) > 0 else { return }
        _ = Signal.send(SIGCONT, to: process)
        usleep(UInt32.random(in: 0...8_000, using: &random))
    }

    private mutating func kill(_ process: Int32, of worker: String) {
        watch.forget(worker)
        histogram.add(eventsOnTheirWay(to: worker))
        board.kills += 1
        _ = Signal.send(SIGKILL, to: process)
    }

    /// Kills the next incarnation in the middle of its start.
    private mutating func killEarly(_ worker: String, after process: Int32) {
        let deadline = MonotonicClock.now() + 1_000_000_000
        while MonotonicClock.now() < deadline {
            let status = bridge.status.first { $0.name == worker }
            if let next = status?.pid, next != process {
                usleep(UInt32.random(in: 0...10_000, using: &random))
                earlyKills += 1
                return kill(next, of: worker)
            }
            usleep(200)
        }
    }
}

/// Signals to workers, by the numbers that the bridge has reported.
private enum Signal {
    static func send(_ signal: CInt, to process: Int32) -> Bool {
        systemKill(process, signal) == 0
    }
}

// Under its own name the call is hidden by the method that makes it.
private func systemKill(_ process: Int32, _ signal: CInt) -> CInt { kill(process, signal) }
