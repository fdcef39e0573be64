import BridgePlatform
import ChaosLedger
import EventBridge
import Supervision

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Ends workers at random, in all possible ways, a few at a time, and tells handlers to go wrong.
actor Ender {
    /// How many ends may be under way at once.
    private static let mostAtOnce = 8
    /// A death of a worker under full load waits until many events are on their way; one death in this many does not
    /// wait.
    private static let deathsBetweenIdleDeaths = 10
    /// One orderly end in this many is cut short by SIGKILL.
    private static let orderlyEndsBetweenInterruptions = 6

    private let bridge: BridgeHost
    private let watch: WorkerWatch
    private let board: Board
    private let mischief: Mischief
    private var roster: WorkerRoster
    private var random: SplitMix64
    private var busy: Set<String> = []
    private var isReloading = false
    private var loadedDeaths = 0
    private(set) var running = 0
    private(set) var figures = EndFigures()

    init(bridge: BridgeHost, watch: WorkerWatch, board: Board, mischief: Mischief, roster: WorkerRoster, seed: UInt64) {
        self.bridge = bridge
        self.watch = watch
        self.board = board
        self.mischief = mischief
        self.roster = roster
        random = SplitMix64(seed: seed)
    }

    // MARK: - One end

    /// Begins one end, unless no worker may meet it now.
    ///
    /// - Returns: False if something went wrong that makes going on useless.
    func begin() async -> Bool {
        makeMischief()
        await rest(upTo: chance(1, in: 8) ? 40_000 : 12_000)
        while running >= Self.mostAtOnce {
            guard watch.found.unexpected.isEmpty else { return false }
            await rest(200...200)
        }
        guard watch.found.unexpected.isEmpty else { return false }
        guard let end = End.allCases.randomElement(using: &random), let worker = pick(for: end) else { return true }
        let process = await readyProcess(of: worker)
        guard let party = Party(name: worker), !busy.contains(worker), let process else {
            return watch.found.unexpected.isEmpty
        }
        busy.insert(worker)
        running += 1
        if end.isReload { isReloading = true }
        board.ends += 1
        figures.add(end, party)
        Task {
            await meet(end, worker, process)
            busy.remove(worker)
            running -= 1
            if end.isReload { isReloading = false }
        }
        return true
    }

    /// Returns when no end is under way, or the run has failed.
    func settle() async {
        while running > 0, watch.found.unexpected.isEmpty { await rest(500...500) }
    }

    /// Picks a worker that may meet the end; workers under full load more often than the others.
    private func pick(for end: End) -> String? {
        if end.isReload, isReloading { return nil }
        var names: [String] = []
        for name in roster.workers where !busy.contains(name) {
            guard let party = Party(name: name), end.isMet(by: party) else { continue }
            names += Array(repeating: name, count: Self.isLoaded(party) ? 3 : 1)
        }
        return names.randomElement(using: &random)
    }

    private static func isLoaded(_ party: Party) -> Bool { party == .a || party == .b }

    private func meet(_ end: End, _ worker: String, _ process: Int32) async {
        if end.isOrderly, chance(1, in: Self.orderlyEndsBetweenInterruptions) { interrupt(process) }
        switch end {
        case .kill, .terminate: return await die(end, worker, process)
        case .pause:
            Signal.send(SIGSTOP, to: process)
            await rest(upTo: 30_000)
            Signal.send(SIGCONT, to: process)
            return
        case .restart: bridge.restart(worker)
        case .replace:
            do {
                try await bridge.replace(worker, handingOverWithin: WorkerRoster.grace)
            } catch {
                complain("\(worker) was not replaced: \(error)", process)
            }
        case .stop:
            bridge.stop(worker)
            await wait(for: worker) { $0.state == .stopped }
            await rest(upTo: 20_000)
            bridge.restart(worker)
        case .idle:
            board.restsOnDemand = true
            await wait(for: worker) { $0.state == .dormant || $0.pid != process }
            board.restsOnDemand = false
        case .reloadEqual: return await apply(Reload(unchanged: roster.names), process)
        case .reloadChanged:
            roster.change(worker)
            await apply(Reload(replaced: [worker], unchanged: roster.names.subtracting([worker])), process)
        case .swap:
            let newcomer = roster.swapGuest(worker)
            let others = roster.names.subtracting([newcomer])
            await apply(Reload(started: [newcomer], stopped: [worker], unchanged: others), process)
            return await wait(for: newcomer) { $0.state == .ready }
        }
        await waitUntilBack(worker, after: process)
    }

    /// What a reload is expected to change.
    private struct Reload {
        var started: Set<String> = []
        var stopped: Set<String> = []
        var replaced: Set<String> = []
        var unchanged: Set<String> = []
    }

    private func apply(_ reload: Reload, _ process: Int32) async {
        do {
            let changes = try await bridge.apply(roster.specifications, finishingWithin: WorkerRoster.grace)
            for failure in changes.failures { complain("after a reload: \(failure)", process) }
            guard changes.failures.isEmpty else { return }
            let done = Reload(
                started: Set(changes.started),
                stopped: Set(changes.stopped),
                replaced: Set(changes.replaced),
                unchanged: Set(changes.unchanged)
            )
            let isAsExpected =
                done.started == reload.started && done.stopped == reload.stopped && done.replaced == reload.replaced
                && done.unchanged == reload.unchanged
            if !isAsExpected { watch.complain("a reload has done \(changes), expected \(reload)") }
        } catch {
            watch.complain("a reload was refused: \(error)")
        }
    }

    /// Reports a failure as a fault, unless the driver killed the process in the middle of its orderly end.
    private func complain(_ text: String, _ process: Int32) {
        if figures.interrupted.contains(process) { return }
        watch.complain(text)
    }

    // MARK: - Deaths

    private func die(_ end: End, _ worker: String, _ process: Int32) async {
        let isLoaded = Party(name: worker).map { Self.isLoaded($0) } ?? false
        // SIGKILL also ends a process that is stopped.
        if chance(1, in: 4) {
            Signal.send(SIGSTOP, to: process)
            await rest(upTo: 8_000)
            if end != .kill || chance(2, in: 3) {
                Signal.send(SIGCONT, to: process)
                await rest(upTo: 8_000)
            }
        }
        if isLoaded {
            loadedDeaths += 1
            if loadedDeaths.isMultiple(of: Self.deathsBetweenIdleDeaths) {
                figures.idleDeaths += 1
            } else {
                // The wait comes last, because a worker that goes on may handle all events that are on their way.
                guard await waitForLoad(of: worker) else { return Signal.send(SIGCONT, to: process) }
                figures.histogram.add(eventsOnTheirWay(to: worker))
            }
        }
        Signal.send(end == .kill ? SIGKILL : SIGTERM, to: process)
        var newest = process
        if chance(1, in: 10) {
            // Kill the next incarnation in the middle of its start.
            await wait(for: worker) { $0.pid != nil && $0.pid != process || $0.state == .dormant }
            await rest(upTo: 10_000)
            if let next = status(of: worker)?.pid, next != process {
                figures.early += 1
                Signal.send(SIGKILL, to: next)
                newest = next
            }
        }
        await waitUntilBack(worker, after: newest)
    }

    private func interrupt(_ process: Int32) {
        figures.interrupted.insert(process)
        let pause = UInt32.random(in: 0...20_000, using: &random)
        Task {
            await rest(pause...pause)
            Signal.send(SIGKILL, to: process)
        }
    }

    /// Kills all workers while the run is at rest, and waits until they are back; afterwards no link holds memory from
    /// an earlier load.
    func renewAll() async {
        for worker in roster.workers {
            guard let process = status(of: worker)?.pid else { continue }
            Signal.send(SIGKILL, to: process)
            await waitUntilBack(worker, after: process)
        }
    }

    // MARK: - Waiting

    private func status(of worker: String) -> ChildStatus? { bridge.status.first { $0.name == worker } }

    private func wait(for worker: String, until holds: (ChildStatus) -> Bool) async {
        while watch.found.unexpected.isEmpty {
            if let status = status(of: worker), holds(status) { return }
            await rest(300...300)
        }
    }

    private func waitUntilBack(_ worker: String, after process: Int32) async {
        await wait(for: worker) { status in
            status.state == .ready && status.pid != process && status.replacement == nil || status.state == .dormant
        }
    }

    /// The process of a worker, once it is ready; nil for a worker on demand that is dormant.
    private func readyProcess(of worker: String) async -> Int32? {
        await wait(for: worker) { $0.state == .ready && $0.replacement == nil || $0.state == .dormant }
        return status(of: worker)?.pid
    }

    /// Waits until events are on their way to the worker, because a run of few ends might otherwise hit only idle
    /// workers.
    private func waitForLoad(of worker: String) async -> Bool {
        while eventsOnTheirWay(to: worker) < Histogram.leastLoad {
            guard watch.found.unexpected.isEmpty, board.phase == .publishing else { return false }
            await rest(200...200)
        }
        return true
    }

    private func eventsOnTheirWay(to worker: String) -> Int {
        bridge.leftovers.first { $0.worker == worker }?.events ?? 0
    }

    // MARK: - Chance

    private func makeMischief() {
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

    private func chance(_ count: Int, in all: Int) -> Bool { Int.random(in: 0..<all, using: &random) < count }

    private func rest(upTo microseconds: UInt32) async { await rest(0...microseconds) }

    private func rest(_ microseconds: ClosedRange<UInt32>) async {
        let pause = microseconds.count == 1 ? microseconds.lowerBound : UInt32.random(in: microseconds, using: &random)
        try? await Task.sleep(for: .microseconds(Int(pause)))
    }
}

/// Signals to workers, by the process identifiers that the bridge has reported.
private enum Signal {
    static func send(_ signal: CInt, to process: Int32) {
        _ = systemKill(process, signal)
    }
}

// The method `kill` would hide the system call of the same name.
private func systemKill(_ process: Int32, _ signal: CInt) -> CInt { kill(process, signal) }
