import BridgePlatform
import ChaosLedger
import DomainEvents
import EventBridge
import FoundationEssentials
import Locks
import Supervision

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// One run: a bridge with two workers under full load, a thread that kills them, a checker that reads what they write.
struct ChaosRun {
    /// After so many kills, and a tenth of all, memory is measured for the first time: each thread has grown what it keeps.
    private static let warmUp = 50
    /// How many times more it is measured, at the most.
    private static let samples = 10
    private static let memoryGrowth = 1 << 20
    private static let leastLoadedPercent = 90.0
    /// Of fewer kills chance may leave less than that, and memory says nothing.
    private static let enoughKills = 100
    private static let leastLoadedPercentOfFew = 60.0
    /// With more ledgers unread than this the load waits for the checker, so that a run fits in a few hundred megabytes.
    private static let mostLedgers = 200
    /// How long threads may take to let go of what they hold at the end, in nanoseconds.
    private static let patience: UInt64 = 60_000_000_000

    private let options: DriverOptions
    private let folder: String
    private let board: Board

    /// Killing begins, and goes on after a pause, when so many events wait for each worker: a quarter of what there is room for, at 256 bytes each.
    private var fullLoad: Int { options.outbox }

    init(_ options: DriverOptions) throws {
        self.options = options
        folder = options.folder + "/chaos-" + String(randomUInt64(), radix: 16)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        board = try Board.make(in: folder)
        // So much that most of the room is left to the host, which has only that to go by.
        board.share = UInt64(options.outbox / 4)
    }

    /// - Returns: Whether all went as promised.
    func run() async throws -> Bool {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        say("chaos: \(options.kills) kills, --seed \(options.seed)")
        let checker = try CheckerProcess(folder: folder)
        // The first sleep of a task makes the descriptors that all tasks sleep by from then on.
        try await Task.sleep(for: .milliseconds(1))
        let before = try CurrentProcess.openDescriptorCount()
        let outcome = try await withBridge()
        board.phase = .over
        let isProved = checker.waitForEnd()
        let isClean = try isClean(descriptorsBefore: before)
        return outcome && isProved && isClean
    }

    // MARK: - The bridge

    private func withBridge() async throws -> Bool {
        let publisher = EventPublisher()
        let watch = WorkerWatch()
        let mischief = Mischief()
        let ordinal = board.takeOrdinal()
        let incarnation = publisher.source.incarnation
        let sent = try SentLedger(in: folder, party: .host, ordinal: ordinal, incarnation: incarnation)
        let handled = try HandledLedger(in: folder, party: .host, ordinal: ordinal)
        let subscriptions = HostLoad.subscribe(publisher, handled) + watch.subscribe(to: publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                worker(.a, subscribes: [ForA.self, ForBoth.self, FromB.self]),
                worker(.b, subscribes: [ForB.self, ForBoth.self, FromA.self]),
            ],
            intensity: RestartIntensity(restarts: 100_000, within: .seconds(1)),
            // Events whose handlers throw on purpose are many, and need not be kept.
            deadLetters: DeadLetterLimits(letters: 100, whenFull: .evictOldest)
        )
        try await bridge.start()
        let load = HostLoad(
            publisher: publisher,
            bridge: bridge,
            board: board,
            sent: sent,
            seed: options.seed,
            mischief: mischief
        )
        try Watchdog.begin(bridge, watch, board)
        let tasks = load.begin()
        var killer = Killer(bridge: bridge, watch: watch, board: board, mischief: mischief, seed: options.seed)
        let begin = MonotonicClock.now()
        var memory: [Int] = []
        let isFinished = await kill(with: &killer, bridge, watch, &memory)
        let seconds = Double(MonotonicClock.now() - begin) / 1e9
        board.phase = .stopped
        for task in tasks { try await task.value }
        if isFinished { await bridge.waitUntilIdle() }
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
        return report(killer, watch, seconds, memory) && isFinished
    }

    private func worker(_ party: Party, subscribes: [any DomainEvent.Type]) -> WorkerSpecification {
        var environment = ["SWIFT_BACKTRACE": "enable=no"]
        environment["TSAN_OPTIONS"] = CurrentProcess.environment("TSAN_OPTIONS")
        return WorkerSpecification(
            party.name,
            executable: .beside("chaos-worker"),
            arguments: [folder, "\(options.seed)"],
            environment: environment,
            subscribes: subscribes,
            backoff: .exponential(from: .milliseconds(1), to: .milliseconds(1), startsAtOnce: true),
            handshakeTimeout: .seconds(240),
            // One that is stopped, or has no processor for a while, is not to be taken for dead.
            heartbeat: Heartbeat(every: .seconds(5), tolerance: 12),
            shutdown: .draining(grace: .seconds(240), terminate: .seconds(240)),
            // No event is to blame for these deaths, however often it meets them.
            limits: WorkerLimits(outbox: options.outbox << 10, strikes: 1_000_000)
        )
    }

    // MARK: - Killing

    /// Kills as often as was asked for, with pauses in which memory is measured.
    private func kill(
        with killer: inout Killer,
        _ bridge: BridgeHost,
        _ watch: WorkerWatch,
        _ memory: inout [Int]
    ) async -> Bool {
        let warmUp = max(Self.warmUp, options.kills / 10)
        let step = max((options.kills - warmUp) / Self.samples, Self.warmUp)
        var next = warmUp
        guard await waitForLoad(bridge, watch) else { return false }
        while board.kills < options.kills {
            guard killer.kill() else { return false }
            if options.kills >= Self.enoughKills, board.kills >= next {
                await measure(bridge, killer, &memory)
                next += step
                guard await waitForLoad(bridge, watch) else { return false }
            } else if Leftovers.ledgers(in: folder) > Self.mostLedgers {
                await letCheckerCatchUp()
                guard await waitForLoad(bridge, watch) else { return false }
            }
        }
        if !memory.isEmpty { await measure(bridge, killer, &memory) }
        return true
    }

    private func waitForLoad(_ bridge: BridgeHost, _ watch: WorkerWatch) async -> Bool {
        while bridge.leftovers.count(where: { $0.events >= fullLoad }) < 2 {
            guard watch.found.unexpected.isEmpty else { return false }
            try? await Task.sleep(for: .milliseconds(1))
        }
        return true
    }

    /// At rest: what is on its way is no leak.
    private func measure(_ bridge: BridgeHost, _ killer: Killer, _ memory: inout [Int]) async {
        board.phase = .paused
        await bridge.waitUntilIdle()
        killer.renewAll()
        await bridge.waitUntilIdle()
        let kilobytes = Leftovers.anonymousKilobytes() ?? 0
        if let bytes = CurrentProcess.heapBytesInUse() { memory.append(bytes) }
        say("  \(board.kills) kills, heap \((memory.last ?? 0) >> 10) KiB in use, \(kilobytes) KiB anonymous")
        board.phase = .publishing
    }

    private func letCheckerCatchUp() async {
        board.phase = .paused
        while Leftovers.ledgers(in: folder) > Self.mostLedgers / 2 { try? await Task.sleep(for: .milliseconds(20)) }
        board.phase = .publishing
    }

    // MARK: - What came of it

    private func report(_ killer: Killer, _ watch: WorkerWatch, _ seconds: Double, _ memory: [Int]) -> Bool {
        let histogram = killer.histogram
        let (takenOver, torn) = watch.summary
        let troubles = watch.found
        say(
            """
            \(histogram.total) kills in \(Int(seconds)) s (\(Int(Double(histogram.total) / max(seconds, 0.001))) a second), \
            \(killer.earlyKills) of them before the worker was ready; \(killer.stops) times stopped; \
            \(takenOver) events taken over from outboxes, \(torn) torn
            events accepted for the worker and not handled when it was killed:
            """
        )
        for line in histogram.lines { say(line) }
        var isGood = true
        func check(_ holds: Bool, _ text: String) {
            say((holds ? "  ok      " : "  FAILED  ") + text)
            isGood = isGood && holds
        }
        let isMany = histogram.total >= Self.enoughKills
        check(
            histogram.loadedPercent >= (isMany ? Self.leastLoadedPercent : Self.leastLoadedPercentOfFew),
            "\(Int(histogram.loadedPercent)) % of the kills with \(Histogram.leastLoad) events or more on their way"
        )
        check(troubles.dropped == 0, "\(troubles.dropped) events dropped")
        check(troubles.lostInOutboxes == 0, "\(troubles.lostInOutboxes) events lost in outboxes")
        check(troubles.unexpected.isEmpty, "\(troubles.unexpected.count) unexpected reports")
        for text in troubles.unexpected.prefix(10) { say("          \(text)") }
        if let first = memory.first, let last = memory.last, isMany {
            check(last - first < Self.memoryGrowth, "heap grown by \((last - first) / 1_024) KiB since the warm-up")
        } else {
            say("  -       memory is not measured: too few kills, or nobody counts it here")
        }
        return isGood
    }

    private func isClean(descriptorsBefore before: Int) throws -> Bool {
        let children = Leftovers.children()
        let orphans = Leftovers.orphans(folder: folder)
        // A thread that has just reported the end of its link still has to let go of it.
        let deadline = MonotonicClock.now() + Self.patience
        while try CurrentProcess.openDescriptorCount() > before, MonotonicClock.now() < deadline { usleep(1_000) }
        let leaked = try CurrentProcess.openDescriptorCount() - before
        let isGood = children.zombies == 0 && children.running == 0 && orphans == 0 && leaked <= 0
        say(
            (isGood ? "  ok      " : "  FAILED  ")
                + """
                \(children.zombies) zombies, \(children.running) children left, \(orphans) orphans, \
                \(max(leaked, 0)) descriptors leaked
                """
        )
        return isGood
    }

    private func say(_ line: String) {
        CurrentProcess.writeAll(line + "\n", to: 1)
    }
}
