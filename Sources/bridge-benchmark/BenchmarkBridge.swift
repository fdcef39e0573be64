import DomainEvents
import EventBridge
import Journal
import Supervision

/// A bridge whose workers run this same program; the bridge may have further load besides the measured work.
struct BenchmarkBridge {
    let publisher = EventPublisher()
    private var workers: [WorkerSpecification] = []
    private(set) var slowLink: SlowLink?
    private var journal: EventJournal?

    /// Adds a worker that does its half of a work; the arguments name the work.
    mutating func add(
        _ name: String = "benchmark",
        _ arguments: [String],
        subscribes: [any DomainEvent.Type],
        shutdown: ShutdownSequence = .draining()
    ) {
        workers.append(
            WorkerSpecification(
                name,
                executable: .beside("bridge-benchmark"),
                arguments: ["worker"] + arguments,
                subscribes: subscribes,
                // A hundred workers may start at once.
                handshakeTimeout: .seconds(60),
                shutdown: shutdown,
                // `growth-types-10000` needs more names, and more messages that announce them, than the defaults allow.
                limits: WorkerLimits(interestNames: 16_384, eventNames: 16_384, controlMessages: 16_384)
            )
        )
    }

    /// Adds workers that have nothing to do.
    mutating func addIdle(_ count: Int) {
        for number in 0..<count { add("idle-\(number)", ["idle"], subscribes: [BenchmarkAwaited.self]) }
    }

    /// Adds a worker that takes a millisecond for each event, and a producer that keeps the worker's outbox full.
    mutating func addSlowLink() {
        add(SlowLink.worker, ["slow"], subscribes: [BenchmarkLoad.self], shutdown: .killing)
        slowLink = SlowLink(publisher)
    }

    /// Adds a journal in this directory, which records the events of these types from the host and from the workers.
    mutating func addJournal(at path: String, recording types: [any DomainEvent.Type]) throws {
        let journal = try EventJournal(at: path)
        for type in types { try journal.record(type, of: publisher) }
        self.journal = journal
    }

    func start() async throws -> BridgeHost {
        let bridge = try BridgeHost(publisher: publisher, workers: workers)
        try await bridge.start()
        slowLink?.fill()
        return bridge
    }

    /// Stops the workers, and closes the journal if there is one.
    ///
    /// - Parameter recorded: how many events the journal should have.
    func stop(_ bridge: BridgeHost, recorded: Int64 = 0) async {
        if let slowLink {
            slowLink.end(bridge)
            await bridge.shutdown(drainingWithin: .zero)
        } else {
            await bridge.shutdown()
        }
        guard let journal else { return }
        let position = journal.status.lastPosition
        await journal.close()
        if position != UInt64(recorded) { Report.fail("the journal has \(position) events, expected \(recorded)") }
    }
}
