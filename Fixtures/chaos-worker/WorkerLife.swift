import BridgePlatform
import ChaosLedger
import DomainEvents
import Locks
import Supervision

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// One life of a chaos worker: its handlers, and the tasks and threads that publish.
struct WorkerLife: Sendable {
    let publisher: EventPublisher
    let board: Board
    let sent: SentLedger
    let handled: HandledLedger
    let seed: UInt64

    /// How many microseconds a slow handler takes for an event: it handles about 2,000 events of a kilobyte a second.
    private static let slow: UInt32 = 300

    /// Begins what a worker of this party does.
    func begin(as party: Party) throws -> [Subscription] {
        switch party {
        case .a: return answer(.aToHost, .aToB, .aFromHandler, own: ForA.self, peer: ForB.self, FromA.self, FromB.self)
        case .b: return answer(.bToHost, .bToA, .bFromHandler, own: ForB.self, peer: ForA.self, FromB.self, FromA.self)
        case .source: return try beginSource()
        case .first:
            send(.firstAsks, Ask.self)
            return []
        case .middle:
            let replies = Consequences(sender(.middleReplies))
            return [handle(Ask.self) { _ in replies.publish(Reply.self) }]
        case .last: return [handle(Reply.self) { _ in usleep(Self.slow) }]
        case .pool: return [handle(Keyed.self)]
        case .demand:
            try publishFromThread(.demandThread, FromDemand.self, burst: 1, everyMilliseconds: 0...90)
            return [handle(ForDemand.self)]
        case .lossy:
            return [
                handle(Oldest.self) { _ in usleep(2 * Self.slow) }, handle(Newest.self) { _ in usleep(2 * Self.slow) },
                handle(Latest.self) { _ in usleep(2 * Self.slow) },
            ]
        case .guest:
            try publishFromThread(.guestThread, FromGuest.self, burst: 4, everyMilliseconds: 1...10)
            return [handle(ForGuest.self)]
        case .asker:
            ask()
            return [handle(Answer.self)]
        case .host, .witness, .client: throw LedgerError("\(party.name) is no worker of this kind")
        }
    }

    private func sender(_ stream: ChaosStream) -> ChaosSender {
        ChaosSender(stream, publisher, sent, seed: seed)
    }

    private func handle<E: ChaosEvent>(
        _ type: E.Type,
        _ work: @escaping @Sendable (ChaosPayload) -> Void = { _ in }
    ) -> Subscription {
        let handled = handled
        return publisher.subscribe(to: type) { event in
            try handled.handle(event.payload) {
                takeTime(event.payload.delay)
                work(event.payload)
            }
        }
    }

    // MARK: - The two under full load

    private func answer<Own: ChaosEvent, Peer: ChaosEvent, Ours: ChaosEvent, Theirs: ChaosEvent>(
        _ toHost: ChaosStream,
        _ toPeer: ChaosStream,
        _ fromHandler: ChaosStream,
        own: Own.Type,
        peer: Peer.Type,
        _ ours: Ours.Type,
        _ theirs: Theirs.Type
    ) -> [Subscription] {
        // These events come in bursts, because the host also has to handle the events of all other workers.
        send(toHost, ForHost.self, burst: 20)
        send(toPeer, peer)
        let consequences = Consequences(sender(fromHandler))
        let handled = handled
        let board = board
        return [
            handle(Own.self) { payload in
                guard let stream = ChaosStream(rawValue: payload.stream) else { return }
                if stream.origin == .host {
                    consequences.publish(Ours.self)
                } else {
                    board.setProgress(payload.number, of: stream, from: payload.incarnation)
                }
            },
            handle(Theirs.self),
            publisher.subscribe(to: ForBoth.self) { (event: ForBoth) async throws in
                try await handled.handle(event.payload) {
                    await Task.yield()
                    takeTime(event.payload.delay)
                }
            },
        ]
    }

    /// Sends as fast as there is room.
    ///
    /// - Parameters:
    ///   - burst: after how many events the sender rests; nil for never.
    private func send<E: ChaosEvent>(
        _ stream: ChaosStream,
        _ type: E.Type,
        burst: UInt64? = nil
    ) {
        var sender = sender(stream)
        let board = board
        let incarnation = publisher.source.incarnation
        Task.detached {
            while board.isLive {
                if board.phase == .paused || board.isAhead(sender.number, of: stream, from: incarnation) {
                    try await Task.sleep(for: .milliseconds(1))
                } else if !(try await sender.send(type)) || burst.map({ sender.number.isMultiple(of: $0) }) == true {
                    try await Task.sleep(for: .milliseconds(4))
                }
            }
        }
    }

    // MARK: - Those that publish by themselves

    private func beginSource() throws -> [Subscription] {
        try publishFromThread(.sourceThread, FromSource.self, burst: 5, everyMilliseconds: 1...10)
        var sending = sender(.sourceTask)
        var publishing = sender(.sourceToPool)
        let board = board
        let isHeldBack = isHeldBack
        Task.detached {
            while board.isLive {
                if board.phase == .publishing { for _ in 0..<4 { _ = try await sending.send(FromSource.self) } }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        Task.detached {
            while board.isLive {
                if !isHeldBack(publishing, .sourceToPool) { for _ in 0..<3 { publishing.publish(Keyed.self) } }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        let answers = Consequences(sender(.sourceAnswers))
        return [handle(Errand.self), handle(Question.self) { _ in answers.publish(Answer.self) }]
    }

    /// Whether a sender that does not wait for room has to rest for now; also true while no process may publish.
    private var isHeldBack: @Sendable (ChaosSender, ChaosStream) -> Bool {
        { [board, incarnation = publisher.source.incarnation] sender, stream in
            board.phase != .publishing || board.isAhead(sender.number, of: stream, from: incarnation)
        }
    }

    /// Publishes without waiting for room, until the process ends.
    private func publishFromThread<E: ChaosEvent>(
        _ stream: ChaosStream,
        _ type: E.Type,
        burst: Int,
        everyMilliseconds pause: ClosedRange<UInt32>
    ) throws {
        let first = sender(stream)
        let board = board
        let isHeldBack = isHeldBack
        let seed = seed
        try PlatformThread.start(name: "\(stream)") {
            var sender = first
            var random = SplitMix64(seed: seed)
            while board.isLive {
                if !isHeldBack(sender, stream) { for _ in 0..<burst { sender.publish(type) } }
                usleep(UInt32.random(in: pause, using: &random) * 1_000)
            }
        }
    }

    // MARK: - The asker, which waits for outcomes

    /// How long the asker waits for an outcome, from far too short to more than enough, in milliseconds.
    private static let patience = [1, 20, 2_000, 60_000]

    private func ask() {
        wait(.askerDelivers) { sender, mischief, limit in
            await sender.deliver(Errand.self, mischief, within: limit)
        }
        wait(.askerRequests) { sender, mischief, limit in
            await sender.request(Question.self, awaiting: Answer.self, mischief, within: limit)
        }
    }

    private func wait(
        _ stream: ChaosStream,
        _ body: @escaping @Sendable (inout ChaosSender, HandlerMischief, Duration) async -> Void
    ) {
        var sender = sender(stream)
        var random = SplitMix64(seed: seed)
        let (board, sent) = (board, sent)
        Task.detached {
            while board.isLive, sent.hasRoom {
                if board.phase == .publishing {
                    let mischief: HandlerMischief =
                        switch Int.random(in: 0..<8, using: &random) {
                        case 0: .refuses
                        case 1: .takes(microseconds: 3_000)
                        default: .none
                        }
                    let patience = Self.patience[Int.random(in: 0..<Self.patience.count, using: &random)]
                    await body(&sender, mischief, .milliseconds(patience))
                }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }
}

/// The sender of the events that handlers publish in one stream.
private final class Consequences: @unchecked Sendable {
    // Sendable: guarded by `lock`, for which no thread waits, because only the link's reading thread runs the handlers.
    private let lock = Lock()
    private var sender: ChaosSender

    init(_ sender: ChaosSender) {
        self.sender = sender
    }

    func publish<E: ChaosEvent>(_ type: E.Type) {
        lock.withLock { sender.publish(type) }
    }
}

/// Takes as long as the handler was told to take.
private func takeTime(_ microseconds: UInt32) {
    if microseconds > 0 { usleep(microseconds) }
}
