import BridgePlatform
import DomainEvents
import EventBridge
import FoundationEssentials
import Locks
import Supervision
import Synchronization

/// Measures what a stopped worker costs its host and another worker while the host publishes as fast as it can.
///
/// The producer changes its activity each second, so other work of the machine affects all activities alike.
final class StoppedWork: Sendable {
    /// The activities of the producer.
    enum Producer: String, CaseIterable {
        /// The producer waits in `send`; the other activities are compared with this one.
        case waits
        /// The producer publishes without a pause.
        case floods
        /// The producer keeps a processor busy without the bridge, to show what a busy processor costs on this machine.
        case burns
    }

    struct Outcome {
        let options: StoppedOptions
        var rounds = 0
        var floodedSeconds = 0.0
        var published: UInt64 = 0
        var dropped: UInt64 = 0
        /// How many events the outbox held at the end.
        var kept: UInt64 = 0
        var memoryGrowth = 0
        /// The medians of the rounds.
        var trips: [(producer: Producer, p50: UInt64, p99: UInt64, count: Int)] = []
        /// The medians, over the rounds, of the ratio between two activities in the same round.
        var ratios: [(name: String, p50: Double, p99: Double)] = []
    }

    /// The trips of one round.
    ///
    /// The time of each trip is not kept: over a minute these times would take more memory than ``StoppedOptions``
    /// allows beside the outbox.
    private struct Round {
        let p50: UInt64
        let p99: UInt64
        let count: Int

        init(_ times: [UInt64]) {
            p50 = Report.percentile(50, of: times)
            p99 = Report.percentile(99, of: times)
            count = times.count
        }
    }

    private static let roundNanoseconds: UInt64 = 1_000_000_000

    private let options: StoppedOptions
    private let publisher = EventPublisher()
    private let filler: Data
    private let published = Atomic<UInt64>(0)
    private let announced = Atomic<UInt64>(0)

    init(_ options: StoppedOptions) {
        self.options = options
        filler = Data(repeating: 0x61, count: options.bytes)
    }

    func run() async throws {
        let bridge = try BridgeHost(publisher: publisher, workers: [stopped, other])
        let trips = PacedTrips(publisher)
        let subscription = publisher.subscribe(to: EventsDropped.self) { [self] in
            announced.wrappingAdd(UInt64(clamping: $0.count), ordering: .relaxed)
        }
        try await bridge.start()
        publisher.publish(BenchmarkStopped())
        // The worker stops during these trips.
        _ = await trips.run(nanoseconds: Self.roundNanoseconds)
        let memoryBefore = Self.memory()
        // After this loop the outbox is full: `send` waits, and `publish` drops.
        while sent(bridge).rejected == 0 { publish() }
        var outcome = Outcome(options: options)
        var rounds: [Producer: [Round]] = [:]
        var mostMemory = Self.memory()
        published.store(0, ordering: .relaxed)
        while outcome.rounds < Int(options.seconds) {
            // Each activity comes first, in the middle and last in turn.
            let order = (0..<3).map { Producer.allCases[($0 + outcome.rounds) % 3] }
            for producer in order {
                let started = MonotonicClock.now()
                let end = try begin(producer)
                let times = await trips.run(nanoseconds: Self.roundNanoseconds)
                try await end()
                if producer == .floods { outcome.floodedSeconds += Double(MonotonicClock.now() - started) / 1e9 }
                rounds[producer, default: []].append(Round(times))
                mostMemory = max(mostMemory, Self.memory())
            }
            outcome.rounds += 1
        }
        outcome.memoryGrowth = mostMemory - memoryBefore
        outcome.published = published.load(ordering: .relaxed)
        outcome.kept = sent(bridge).waiting
        outcome.trips = Producer.allCases.map { producer in
            let all = rounds[producer] ?? []
            let (p50, p99) = (Report.percentile(50, of: all.map(\.p50)), Report.percentile(50, of: all.map(\.p99)))
            return (producer, p50, p99, all.reduce(0) { $0 + $1.count })
        }
        outcome.ratios = [
            Self.ratio("floods_to_waits", rounds[.floods] ?? [], rounds[.waits] ?? []),
            Self.ratio("burns_to_waits", rounds[.burns] ?? [], rounds[.waits] ?? []),
            Self.ratio("floods_to_burns", rounds[.floods] ?? [], rounds[.burns] ?? []),
        ]
        let books = sent(bridge)
        outcome.dropped = books.rejected
        guard books.handled == 0 else { Report.fail("the worker that was to stop handled \(books.handled) events") }
        await bridge.shutdown(drainingWithin: .zero)
        subscription.cancel()
        let told = announced.load(ordering: .relaxed)
        guard told == books.rejected else { Report.fail("\(books.rejected) events were dropped, \(told) announced") }
        Report.stopped(outcome)
    }

    // MARK: - Workers

    private var stopped: WorkerSpecification {
        WorkerSpecification(
            "stopped",
            executable: .beside("bridge-benchmark"),
            arguments: ["worker", "stopped"],
            subscribes: [BenchmarkStopped.self, BenchmarkLoad.self],
            // The host must not end the stopped worker because it is silent.
            heartbeat: Heartbeat(every: .seconds(3_600)),
            shutdown: .killing,
            limits: WorkerLimits(outbox: options.outbox, outboxHardLimit: options.hardLimit)
        )
    }

    private var other: WorkerSpecification {
        WorkerSpecification(
            "other",
            executable: .beside("bridge-benchmark"),
            arguments: ["worker", "W1"],
            subscribes: [BenchmarkEvent.self]
        )
    }

    private func sent(_ bridge: BridgeHost) -> EventCounts {
        guard let worker = bridge.statistics.first(where: { $0.worker == "stopped" }) else {
            Report.fail("there are no statistics of the stopped worker")
        }
        return worker.sent
    }

    // MARK: - The producer

    private func publish() {
        let id = published.wrappingAdd(1, ordering: .relaxed).oldValue
        publisher.publish(BenchmarkLoad(id: Int64(clamping: id), filler: filler))
    }

    /// - Returns: A closure that ends the activity.
    private func begin(_ producer: Producer) throws -> () async throws -> Void {
        let isDone = BenchmarkFlag()
        switch producer {
        case .waits:
            let task = Task { [self] in
                do {
                    try await publisher.send(BenchmarkLoad(id: -1, filler: filler))
                    Report.fail("send did not wait for the worker that has stopped")
                } catch is CancellationError {
                    return
                }
            }
            return {
                task.cancel()
                try await task.value
            }
        case .floods:
            let thread = try PlatformThread.startJoinable(name: "producer") { [self] in
                while !isDone.isSet { publish() }
            }
            return {
                isDone.set()
                thread.join()
            }
        case .burns:
            let thread = try PlatformThread.startJoinable(name: "burner") { while !isDone.isSet {} }
            return {
                isDone.set()
                thread.join()
            }
        }
    }

    // MARK: - Figures

    private static func memory() -> Int {
        guard let bytes = CurrentProcess.residentBytes() else {
            Report.fail("the system does not say how much memory this process takes")
        }
        return bytes
    }

    private static func ratio(_ name: String, _ these: [Round], _ those: [Round]) -> (String, Double, Double) {
        func median(_ figure: (Round) -> UInt64) -> Double {
            let ratios = zip(these, those).map { Double(figure($0)) / Double(figure($1)) }
            return ratios.sorted()[ratios.count / 2]
        }
        return (name, median(\.p50), median(\.p99))
    }
}

/// Round trips to the other worker for a given time, one after the other.
private final class PacedTrips: @unchecked Sendable {
    // Sendable: guarded by `lock`; only one event is in flight, so no thread waits for the lock.
    private let publisher: EventPublisher
    private let lock = Lock()
    private var nanoseconds: [UInt64] = []
    private var begun: UInt64 = 0
    private var end: UInt64 = 0
    private var next: Int64 = 0
    private var finish: Finish?
    private var subscription: Subscription?

    init(_ publisher: EventPublisher) {
        self.publisher = publisher
        subscription = publisher.subscribe(to: BenchmarkReply.self) { [weak self] in self?.returned($0) }
    }

    func run(nanoseconds length: UInt64) async -> [UInt64] {
        let finish = Finish()
        let id = lock.withLock {
            self.finish = finish
            nanoseconds = []
            begun = MonotonicClock.now()
            end = begun + length
            return next
        }
        publisher.publish(BenchmarkEvent(id: id, title: Title.of(id)))
        await finish.wait()
        return lock.withLock { nanoseconds }
    }

    private func returned(_ reply: BenchmarkReply) {
        let now = MonotonicClock.now()
        let (isLast, id): (Finish?, Int64) = lock.withLock {
            guard reply.id == next else { Report.fail("reply \(reply.id) came where \(next) was expected") }
            next += 1
            nanoseconds.append(now - begun)
            if now >= end { return (finish, next) }
            begun = MonotonicClock.now()
            return (nil, next)
        }
        if let isLast { isLast.finish() } else { publisher.publish(BenchmarkEvent(id: id, title: Title.of(id))) }
    }
}
