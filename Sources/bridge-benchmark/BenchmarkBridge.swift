import DomainEvents
import EventBridge
import Supervision

/// A bridge whose workers run this same program; the bridge may have further load besides the measured work.
struct BenchmarkBridge {
    let publisher = EventPublisher()
    private var workers: [WorkerSpecification] = []
    private(set) var slowLink: SlowLink?

    /// Adds a worker that does the worker's half of the work that the arguments name.
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
                // `growth-types-10000` wants more names, and says so in more messages, than a worker may by default.
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

    /// Starts the workers.
    func start() async throws -> BridgeHost {
        let bridge = try BridgeHost(publisher: publisher, workers: workers)
        try await bridge.start()
        slowLink?.fill()
        return bridge
    }

    /// Stops the workers.
    func stop(_ bridge: BridgeHost) async {
        if let slowLink {
            slowLink.end(bridge)
            await bridge.shutdown(drainingWithin: .zero)
        } else {
            await bridge.shutdown()
        }
    }
}
