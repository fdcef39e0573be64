import BridgeClient
import BridgePlatform
import ChaosLedger
import DomainEvents
import Supervision

/// The client of a run: attaches and detaches, each time under another name, and writes down the events that it gets
/// while it is attached.
struct ClientLife: Sendable {
    private let folder: String
    private let board: Board
    private let seed: UInt64
    private let socket: String

    init(folder: String, seed: UInt64, socket: String) throws {
        self.folder = folder
        self.seed = seed
        self.socket = socket
        board = try Board(in: folder)
    }

    func run() async throws {
        var random = SplitMix64(seed: seed)
        while board.isLive {
            do {
                try await attachOnce(&random)
            } catch let error as BridgeClientError {
                // The host has begun to shut down, or has not begun to listen.
                guard board.isLive else { return }
                try await Task.sleep(for: .milliseconds(20))
                _ = error
            }
        }
    }

    private func attachOnce(_ random: inout SplitMix64) async throws {
        let publisher = EventPublisher()
        let ordinal = board.takeOrdinal()
        let incarnation = publisher.source.incarnation
        let sent = try SentLedger(in: folder, party: .client, ordinal: ordinal, incarnation: incarnation)
        let handled = try HandledLedger(in: folder, name: Party.client.name, board: board)
        let events = publisher.eventsAndGaps(of: ForBoth.self)
        let client = try await BridgeClient.connect(to: socket, publisher: publisher, name: "chaos client")
        board.addAttachment()
        let watching = Task.detached { try await Self.watch(events, handled) }
        var sender = ChaosSender(.clientToHost, publisher, sent, seed: seed &+ ordinal)
        let deadline = MonotonicClock.now() + UInt64.random(in: 5_000_000...400_000_000, using: &random)
        while MonotonicClock.now() < deadline, board.isLive {
            if board.phase == .publishing { for _ in 0..<5 { _ = try await sender.send(FromClient.self) } }
            try await Task.sleep(for: .milliseconds(2))
        }
        await client.close()
        watching.cancel()
        try await watching.value
    }

    /// Writes down each event and each gap, in the order in which they come.
    private static func watch(_ events: EventAndGapSequence<ForBoth>, _ handled: HandledLedger) async throws {
        var newest: ChaosPayload?
        for await next in events {
            switch next {
            case .event(let event):
                newest = event.payload
                try handled.note(event.payload, attempt: 1, incarnation: event.payload.incarnation)
            case .gap(let gap):
                guard let newest, let stream = ChaosStream(rawValue: newest.stream) else { continue }
                try handled.noteGap(gap.count, of: stream, incarnation: newest.incarnation)
            }
        }
    }
}
