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

    init(
        publisher: EventPublisher,
        bridge: BridgeHost,
        board: Board,
        sent: SentLedger,
        seed: UInt64,
        mischief: Mischief
    ) {
        self.publisher = publisher
        self.bridge = bridge
        self.board = board
        self.sent = sent
        self.seed = seed
        self.mischief = mischief
    }

    /// Handles what comes from workers: inline, and in tasks, which finish out of order.
    static func subscribe(_ publisher: EventPublisher, _ handled: HandledLedger) -> [Subscription] {
        [
            publisher.subscribe(to: ForHost.self) { event in
                try handled.handle(event.payload) { wait(event.payload) }
            },
            publisher.subscribe(to: FromA.self) { (event: FromA) async throws in
                try await handled.handle(event.payload) {
                    await Task.yield()
                    wait(event.payload)
                }
            },
            publisher.subscribe(to: FromB.self) { event in
                try handled.handle(event.payload) { wait(event.payload) }
            },
        ]
    }

    /// Begins to publish, each stream in a task of its own.
    ///
    /// - Returns: What ends when the board says so.
    func begin() -> [Task<Void, any Error>] {
        [
            publish(.hostToA, ForA.self, leadingTo: FromA.eventName),
            publish(.hostToASecond, ForA.self, leadingTo: FromA.eventName),
            publish(.hostToB, ForB.self, leadingTo: FromB.eventName),
            publish(.hostToBSecond, ForB.self, leadingTo: FromB.eventName),
            publish(.hostToBoth, ForBoth.self, leadingTo: nil),
        ]
    }

    /// - Parameter consequence: what a worker's handler publishes over each of them: nothing but this holds that back.
    private func publish<E: ChaosEvent>(
        _ stream: ChaosStream,
        _ type: E.Type,
        leadingTo consequence: String?
    ) -> Task<Void, any Error> {
        Task.detached { [self] in
            var sender = ChaosSender(stream, publisher, sent, seed: seed)
            while board.phase != .stopped {
                if board.phase == .paused {
                    try await Task.sleep(for: .milliseconds(1))
                    continue
                }
                if let consequence { await bridge.waitForRoom(name: consequence) }
                try await sender.send(type, mischief.take())
            }
        }
    }
}

private func wait(_ payload: ChaosPayload) {
    if payload.delay > 0 { usleep(payload.delay) }
}
