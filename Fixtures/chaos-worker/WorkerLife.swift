import ChaosLedger
import DomainEvents
import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// One life of a chaos worker: its handlers, and the tasks that publish.
struct WorkerLife: Sendable {
    let publisher: EventPublisher
    let board: Board
    let sent: SentLedger
    let handled: HandledLedger
    let seed: UInt64

    func begin<Own: ChaosEvent, Peer: ChaosEvent, Ours: ChaosEvent, Theirs: ChaosEvent>(
        _ toHost: ChaosStream,
        _ toPeer: ChaosStream,
        _ fromHandler: ChaosStream,
        own: Own.Type,
        peer: Peer.Type,
        _ ours: Ours.Type,
        _ theirs: Theirs.Type
    ) -> [Subscription] {
        publish(toHost, ForHost.self, waitsForReceiver: false)
        publish(toPeer, peer, waitsForReceiver: true)
        let consequences = Consequences(ChaosSender(fromHandler, publisher, sent, seed: seed))
        let handled = handled
        let board = board
        return [
            publisher.subscribe(to: Own.self) { event in
                let payload = event.payload
                try handled.handle(payload) {
                    wait(payload.delay)
                    guard let stream = ChaosStream(rawValue: payload.stream) else { return }
                    if stream.origin == .host {
                        consequences.publish(Ours.self)
                    } else {
                        board.setProgress(payload.number, of: stream, from: payload.incarnation)
                    }
                }
            },
            publisher.subscribe(to: Theirs.self) { event in
                try handled.handle(event.payload) { wait(event.payload.delay) }
            },
            publisher.subscribe(to: ForBoth.self) { (event: ForBoth) async throws in
                try await handled.handle(event.payload) {
                    await Task.yield()
                    wait(event.payload.delay)
                }
            },
        ]
    }

    private func publish<E: ChaosEvent>(_ stream: ChaosStream, _ type: E.Type, waitsForReceiver: Bool) {
        var sender = ChaosSender(stream, publisher, sent, seed: seed)
        let board = board
        let incarnation = publisher.source.incarnation
        func isAhead(_ number: UInt64) -> Bool {
            number > board.progress(of: stream, from: incarnation).addingReportingOverflow(board.share).partialValue
        }
        Task.detached {
            while board.phase != .stopped, board.phase != .over {
                if board.phase == .paused || (waitsForReceiver && isAhead(sender.number)) {
                    try await Task.sleep(for: .milliseconds(1))
                } else {
                    try await sender.send(type)
                }
            }
        }
    }
}

/// What handlers publish.
private final class Consequences: @unchecked Sendable {
    // Sendable: guarded by `lock`. Never contended: the thread that reads the link runs these handlers.
    private let lock = Lock()
    private var sender: ChaosSender

    init(_ sender: ChaosSender) {
        self.sender = sender
    }

    func publish<E: ChaosEvent>(_ type: E.Type) {
        lock.withLock { sender.publish(type) }
    }
}

/// Takes as long as a handler was told to.
private func wait(_ microseconds: UInt32) {
    if microseconds > 0 { usleep(microseconds) }
}
