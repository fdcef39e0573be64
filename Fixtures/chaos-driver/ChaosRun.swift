import BridgePlatform
import ChaosLedger
import DomainEvents
import EventBridge
import FoundationEssentials
import Supervision

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// One run: a bridge, workers under load, which the driver ends again and again, a client, and a checker that reads all
/// ledgers.
struct ChaosRun {
    /// Memory is first measured after this many ends, or a tenth of all ends if that is more: by then each thread has
    /// all the memory that it keeps.
    private static let warmUp = 50
    /// How many more times memory is measured at most while ends go on; it may be measured once more after them.
    private static let samples = 4
    /// How many bytes the heap may grow by: about 256 KiB a worker, as a link's memory depends on its last events.
    private static let memoryGrowth = 4 << 20
    /// The least percentage of the deaths that waited for load in which the load must still be there.
    ///
    /// In the others, the worker may handle its events while the driver is suspended after its look at the load.
    private static let leastLoadedPercent = 80.0
    /// With fewer deaths under full load, chance alone may lead to a lower percentage.
    private static let enoughDeaths = 20
    /// With fewer ends, memory at rest says nothing.
    private static let enoughEnds = 100
    /// If more ledgers than this are unread, the load waits for the checker, so that a run fits in a few hundred
    /// megabytes.
    private static let mostLedgers = 300
    /// How often, a millisecond apart, the driver looks at the end whether threads have released their descriptors.
    ///
    /// Looks are counted, not time, because the threads may stand still with the whole machine.
    private static let looks = 60_000

    private let options: DriverOptions
    private let folder: String
    private let board: Board
    private let announcements: Announcements
    private let memory = MemoryWatch()

    /// Ends begin, and go on after a pause, when this many events wait for each of two workers: a quarter of the
    /// worker's room, at 256 bytes an event.
    private var fullLoad: Int { options.outbox }

    /// Whether the host shuts down in the middle of its load: true for about half of all seeds.
    private var endsUnderLoad: Bool {
        var random = SplitMix64(seed: options.seed)
        return random.next() & 1 == 1
    }

    init(_ options: DriverOptions) throws {
        self.options = options
        folder = options.folder + "/chaos-" + String(randomUInt64(), radix: 16)
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            // The control socket lies in this folder, and is for this run alone.
            attributes: [.posixPermissions: 0o700]
        )
        board = try Board.make(in: folder)
        announcements = try Announcements.make(in: folder)
        // This leaves most of the room to the host, whose load is limited only by room.
        board.share = UInt64(options.outbox / 4)
    }

    /// - Returns: Whether everything went as promised.
    func run() async throws -> Bool {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        say("chaos: \(options.ends) ends, --seed \(options.seed)")
        let checker = try CompanionProcess.checker(folder: folder)
        // The first sleep of a task opens the descriptors that all later sleeps use.
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
        let watch = WorkerWatch(announcements)
        let mischief = Mischief()
        let incarnation = publisher.source.incarnation
        let sent = try SentLedger(in: folder, party: .host, ordinal: board.takeOrdinal(), incarnation: incarnation)
        let handled = try HandledLedger(in: folder, name: Party.host.name, board: board)
        let subscriptions = HostLoad.subscribe(publisher, handled) + watch.subscribe(to: publisher)
        let roster = WorkerRoster(options, folder: folder)
        let socket = folder + "/control.sock"
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: roster.specifications,
            intensity: RestartIntensity(restarts: 100_000, within: .seconds(1)),
            // A removed guest's events become dead letters all at once, and the letter reader soon discards them.
            deadLetters: DeadLetterLimits(letters: 1_000_000, bytes: 1 << 30),
            control: ControlSocket(socket, outbox: 256 << 10)
        )
        try await bridge.start()
        let looking = try memory.begin(bridge, roster)
        let letters = LetterReader(bridge, handled, watch)
        let reading = letters.begin()
        let client = try CompanionProcess.client(folder: folder, seed: options.seed, socket: socket)
        let load = HostLoad(
            publisher: publisher,
            bridge: bridge,
            board: board,
            sent: sent,
            seed: options.seed,
            mischief: mischief,
            watch: watch
        )
        try Watchdog.begin(bridge, watch, board)
        let tasks = load.begin()
        let ender = Ender(
            bridge: bridge,
            watch: watch,
            board: board,
            mischief: mischief,
            roster: roster,
            seed: options.seed
        )
        let begin = MonotonicClock.now()
        var heap: [Int] = []
        let isFinished = await end(with: ender, bridge, watch, &heap)
        let seconds = Double(MonotonicClock.now() - begin) / 1e9
        if isFinished, endsUnderLoad {
            // This shutdown comes while events, and the events that they cause, are on their way.
            await shutDown(bridge)
            board.phase = .stopped
        } else {
            board.phase = .stopped
            if isFinished { await bridge.waitUntilIdle() }
            await shutDown(bridge)
        }
        for task in tasks { await task.value }
        let isClientGood = client.waitForEnd()
        reading.cancel()
        await reading.value
        letters.readAll()
        memory.end()
        looking.join()
        for subscription in subscriptions { subscription.cancel() }
        let lossy = bridge.statistics.first { $0.worker == Party.lossy.name }
        announcements.setCoalesced(lossy?.sent.coalesced ?? 0, to: .lossy)
        if !isClientGood { watch.complain("the client has failed") }
        return report(await ender.figures, watch, seconds, heap) && isFinished
    }

    private func shutDown(_ bridge: BridgeHost) async {
        let report = await bridge.shutdown()
        for leftover in report.leftovers {
            if let party = Party(name: leftover.worker) { announcements.addLeft(leftover.events, to: party) }
        }
    }

    // MARK: - Ends

    /// Ends workers as often as the options say, with pauses in which memory is measured.
    private func end(
        with ender: Ender,
        _ bridge: BridgeHost,
        _ watch: WorkerWatch,
        _ heap: inout [Int]
    ) async -> Bool {
        let warmUp = max(Self.warmUp, options.ends / 10)
        let step = max((options.ends - warmUp) / Self.samples, Self.warmUp)
        var next = warmUp
        guard await waitForLoad(bridge, watch) else { return false }
        while board.ends < options.ends {
            guard await ender.begin(), !memory.isHopeless else { return false }
            if options.ends >= Self.enoughEnds, board.ends >= next {
                await measure(bridge, ender, &heap)
                next += step
                guard await waitForLoad(bridge, watch) else { return false }
            } else if Leftovers.ledgers(in: folder) > Self.mostLedgers {
                await letCheckerCatchUp()
                guard await waitForLoad(bridge, watch) else { return false }
            }
        }
        await ender.settle()
        if !heap.isEmpty, !endsUnderLoad { await measure(bridge, ender, &heap) }
        return watch.found.unexpected.isEmpty
    }

    private func waitForLoad(_ bridge: BridgeHost, _ watch: WorkerWatch) async -> Bool {
        while bridge.leftovers.count(where: { $0.events >= fullLoad }) < 2 {
            guard watch.found.unexpected.isEmpty, !memory.isHopeless else { return false }
            try? await Task.sleep(for: .milliseconds(1))
        }
        return true
    }

    /// Measures memory at rest, because events on their way are no leak.
    private func measure(_ bridge: BridgeHost, _ ender: Ender, _ heap: inout [Int]) async {
        await ender.settle()
        board.phase = .paused
        await bridge.waitUntilIdle()
        await ender.renewAll()
        await bridge.waitUntilIdle()
        let kilobytes = Leftovers.anonymousKilobytes() ?? 0
        if let bytes = CurrentProcess.heapBytesInUse() { heap.append(bytes) }
        say("  \(board.ends) ends, heap \((heap.last ?? 0) >> 10) KiB in use, \(kilobytes) KiB anonymous")
        board.phase = .publishing
    }

    private func letCheckerCatchUp() async {
        board.phase = .paused
        while Leftovers.ledgers(in: folder) > Self.mostLedgers / 2 { try? await Task.sleep(for: .milliseconds(20)) }
        board.phase = .publishing
    }

    // MARK: - The result

    private func report(_ ends: EndFigures, _ watch: WorkerWatch, _ seconds: Double, _ heap: [Int]) -> Bool {
        let (troubles, figures) = (watch.found, watch.figures)
        let letters = figures.letters.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) \($0.key)" }
        say(
            """
            \(ends.total) ends in \(Int(seconds)) s (\(String(tenths: Double(ends.total) / max(seconds, 0.001))) a second), \
            then a shutdown \(endsUnderLoad ? "under load" : "at rest"); \(ends.early) killed in the middle of their start, \
            \(ends.interrupted.count) in the middle of an orderly end
            \(figures.recovered) events recovered from outboxes, \(figures.torn) torn; \(figures.dropped) dropped; \
            dead letters: \(letters.isEmpty ? "none" : letters.joined(separator: ", "))
            """
        )
        for line in ends.lines { say(line) }
        say("events accepted for a worker under full load and not handled when it died:")
        for line in ends.histogram.lines { say(line) }
        say("  \(ends.idleDeaths) more deaths did not wait for load")
        var isGood = true
        func check(_ holds: Bool, _ text: String) {
            say((holds ? "  ok      " : "  FAILED  ") + text)
            isGood = isGood && holds
        }
        check(
            ends.histogram.total < Self.enoughDeaths || ends.histogram.loadedPercent >= Self.leastLoadedPercent,
            """
            \(Int(ends.histogram.loadedPercent)) % of the deaths that waited for load with \(Histogram.leastLoad) events or \
            more on their way
            """
        )
        check(troubles.lostInOutboxes == 0, "\(troubles.lostInOutboxes) events lost in outboxes")
        check(troubles.unexpected.isEmpty, "\(troubles.unexpected.count) unexpected reports")
        for text in troubles.unexpected.prefix(10) { say("          \(text)") }
        for (holds, text) in memory.summary { check(holds, text) }
        if let first = heap.first, let last = heap.last, heap.count > 1 {
            check(last - first < Self.memoryGrowth, "heap grown by \((last - first) / 1_024) KiB since the warm-up")
        } else {
            say("  -       the heap's growth is not measured: too few ends, or it is not counted here")
        }
        return isGood
    }

    private func isClean(descriptorsBefore before: Int) throws -> Bool {
        let children = Leftovers.children()
        let orphans = Leftovers.orphans(folder: folder)
        // A thread that has just reported the end of its link still has to release the link.
        for _ in 0..<Self.looks {
            guard try CurrentProcess.openDescriptorCount() > before else { break }
            usleep(1_000)
        }
        let leaked = try CurrentProcess.openDescriptorCount() - before
        let isGood = children.zombies == 0 && children.running == 0 && orphans == 0 && leaked <= 0
        say(
            (isGood ? "  ok      " : "  FAILED  ")
                + """
                \(children.zombies) zombies, \(children.running) children left, \(orphans) orphans, \
                \(max(leaked, 0)) descriptors leaked
                """
        )
        if leaked > 0 { say("          open now: \(Leftovers.descriptors())") }
        return isGood
    }

    private func say(_ line: String) {
        CurrentProcess.writeAll(line + "\n", to: 1)
    }
}

extension String {
    /// A number with one decimal place.
    fileprivate init(tenths number: Double) {
        let tenths = Int((number * 10).rounded())
        self = "\(tenths / 10).\(tenths % 10)"
    }
}
