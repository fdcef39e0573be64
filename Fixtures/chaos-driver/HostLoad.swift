import ChaosLedger
import DomainEvents
import EventBridge

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What the host publishes and handles during a run.
final class HostLoad: Sendable {
    private let publisher: EventPublisher
    private let bridge: BridgeHost
    private let board: Board
    private let sent: SentLedger
    private let seed: UInt64
    private let mischief: Mischief
    private let watch: WorkerWatch

    init(
        publisher: EventPublisher,
        bridge: BridgeHost,
        board: Board,
        sent: SentLedger,
        seed: UInt64,
        mischief: Mischief,
        watch: WorkerWatch
    ) {
        self.publisher = publisher
        self.bridge = bridge
        self.board = board
        self.sent = sent
        self.seed = seed
        self.mischief = mischief
        self.watch = watch
    }

    /// Handles the events of workers and the client: inline, and in tasks, which finish out of order.
    static func subscribe(_ publisher: EventPublisher, _ handled: HandledLedger) -> [Subscription] {
        func handle<E: ChaosEvent>(_ type: E.Type) -> Subscription {
            publisher.subscribe(to: type) { event in try handled.handle(event.payload) { wait(event.payload) } }
        }
        return [
            handle(ForHost.self), handle(FromB.self), handle(FromSource.self), handle(FromDemand.self),
            handle(FromGuest.self), handle(FromClient.self),
            publisher.subscribe(to: FromA.self) { (event: FromA) async throws in
                try await handled.handle(event.payload) {
                    await Task.yield()
                    wait(event.payload)
                }
            },
        ]
    }

    /// Begins to publish, each stream in a task of its own.
    ///
    /// - Returns: The tasks; they end when the board says so, or when the bridge accepts nothing more.
    func begin() -> [Task<Void, Never>] {
        [
            publish(.hostToA, ForA.self, leadingTo: FromA.eventName),
            publish(.hostToASecond, ForA.self, leadingTo: FromA.eventName),
            publish(.hostToB, ForB.self, leadingTo: FromB.eventName),
            publish(.hostToBSecond, ForB.self, leadingTo: FromB.eventName),
            publish(.hostToBoth, ForBoth.self),
            publish(.hostToPool, Keyed.self, burst: 5),
            publish(.hostToPoolSecond, Keyed.self, burst: 5),
            publish(.hostToPoolThird, Keyed.self, burst: 5),
            publish(.hostToGuest, ForGuest.self, burst: 5),
            publish(.hostToOldest, Oldest.self, burst: 8),
            publish(.hostToNewest, Newest.self, burst: 8),
            publish(.hostToLatest, Latest.self, burst: 5),
            publish(.hostToDemand, ForDemand.self, burst: 5) { [board] in !board.restsOnDemand },
        ]
    }

    /// How long a stream that comes in bursts waits after each burst.
    private static let pause = Duration.milliseconds(4)

    /// - Parameters:
    ///   - consequence: the event that a worker's handler publishes for each event; this task waits until there is room
    ///     for that event too, because the handler does not wait.
    ///   - burst: how many events come at once; nil for a stream that comes as fast as there is room.
    ///   - isWanted: whether events are to be published now.
    private func publish<E: ChaosEvent>(
        _ stream: ChaosStream,
        _ type: E.Type,
        leadingTo consequence: String? = nil,
        burst: Int? = nil,
        when isWanted: @escaping @Sendable () -> Bool = { true }
    ) -> Task<Void, Never> {
        Task.detached { [self] in
            var sender = ChaosSender(stream, publisher, sent, seed: seed)
            do {
                while board.isLive {
                    guard board.phase == .publishing, isWanted() else {
                        try await Task.sleep(for: .milliseconds(1))
                        continue
                    }
                    if let consequence { await bridge.waitForRoom(name: consequence) }
                    for _ in 0..<(burst ?? 1) {
                        if try await sender.send(type, mischief.take()) { continue }
                        try await Task.sleep(for: .milliseconds(1))
                    }
                    if burst != nil { try await Task.sleep(for: Self.pause) }
                }
            } catch let error as DeliveryError where error.code != .shuttingDown {
                watch.complain("\(stream): \(error)")
            } catch {
                return
            }
        }
    }
}

private func wait(_ payload: ChaosPayload) {
    if payload.delay > 0 { usleep(payload.delay) }
}
