import BridgeControl
import BridgePlatform
import BridgeProtocol
import DomainEvents
import EventBridge
import EventBridgeTesting
import Locks
import Supervision

/// One host from its start to its end, with a peer that follows scripts.
final class HostScene {
    private static let peer = "peer"
    /// How many lives a script gives to the peer at most.
    private static let maximumLives = 3

    private let directory: ScratchDirectory
    private let publisher = EventPublisher()
    private let books = HostBooks()
    private let stage: HostStage
    private let bridge: BridgeHost
    private var subscriptions: [Subscription] = []

    private var socket: String { directory.path + "/s" }

    init() throws {
        guard let directory = ScratchDirectory() else {
            throw BrokenInvariant(description: "no directory can be made")
        }
        self.directory = directory
        let workers = Self.workers
        stage = HostStage(workers, peer: Self.peer)
        bridge = try BridgeHost(
            publisher: publisher,
            workers: workers.map(\.specification),
            intensity: RestartIntensity(restarts: .max, within: .seconds(1)),
            launcher: stage,
            control: ControlSocket(directory.path + "/s")
        )
        let (bridge, books, stage) = (bridge, books, stage)
        subscriptions = [
            publisher.subscribe(to: Resolved.self) { books.wasAnswered($0.number) },
            publisher.subscribe(to: Heard.self) { _ in },
            publisher.subscribe(to: WorkerGaveUp.self) { if $0.worker == Self.peer { stage.wasGivenUp() } },
            publisher.subscribe(to: BridgeStatusReported.self) { books.wasReported($0.report) },
            // The host traces events as long as this subscriber is there.
            publisher.subscribe(to: EventsTraced.self) { _ in },
        ]
        // The result does not matter here: the peer's lives show whether the start succeeded.
        Task { try? await bridge.start() }
    }

    private static var workers: [InMemoryWorker] {
        [
            InMemoryWorker(
                peer,
                subscribes: [Posed.self, Heard.self],
                backoff: .exponential(from: .zero, to: .zero),
                limits: WorkerLimits(outbox: 4 << 10, frame: 64 << 10)
            ) { publisher in
                [
                    publisher.subscribe(to: Posed.self) { publisher.publish(Heard(text: $0.text)) },
                    publisher.subscribe(to: Heard.self) { _ in },
                ]
            },
            InMemoryWorker("honest", subscribes: [Posed.self]) { publisher in
                [publisher.subscribe(to: Posed.self) { publisher.publish(Resolved(number: $0.number)) }]
            },
        ]
    }

    // MARK: - A play

    func play(_ script: Script) throws {
        var script = script
        let (accepted, acceptedBytes) = (script.number(near: 0), script.number(near: 0))
        SharedMemory.common?.say(accepted: accepted, bytes: acceptedBytes)
        for _ in 0..<Self.maximumLives where !script.isAtEnd { act(&script) }
        try settle()
    }

    /// Plays one life of the peer, or of a client.
    private func act(_ script: inout Script) {
        awaitOrder()
        let choice = script.byte()
        ask(Int(choice >> 4) % 8, isLarge: choice & 4 != 0)
        let length = Int(script.byte())
        switch choice & 3 {
        case 0, 1: stage.begin(.scripted(script.part(length)), look: look)
        case 2: stage.begin(.meddled(toHost: script.part(length), toWorker: script.part(length)), look: look)
        default:
            var part = script.part(length)
            ScriptedClient.run(&part, at: socket, look: look)
        }
    }

    /// Returns when the peer's last life is over and the host wants to start the peer again.
    private func awaitOrder() {
        while !stage.waitForOrder() { bridge.restart(Self.peer) }
    }

    /// - Parameter isLarge: whether the events go through shared memory.
    private func ask(_ events: Int, isLarge: Bool) {
        let text = isLarge ? String(repeating: "x", count: 33 << 10) : ""
        for _ in 0..<events { publisher.publish(Posed(number: books.ask(), text: text)) }
    }

    /// Lets the peer take all events that are left for it, so that none waits, and checks that the counts balance.
    private func settle() throws {
        awaitOrder()
        stage.begin(.scripted(nil)) {}
        try finish { [bridge] in await bridge.waitUntilIdle() }
        try require(books.waitForAnswers(), "the honest worker has not answered")
        try checkBooks(ofSent: true)
        for letter in bridge.deadLetters { _ = bridge.discardDeadLetter(letter.id) }
        stage.endLife()
        try require(books.isReportEncodable, "the host cannot say how it is")
        try require(stage.othersStarted <= 1, "the honest worker was started \(stage.othersStarted) times")
    }

    private func checkBooks(ofSent isSent: Bool) throws {
        for worker in bridge.statistics {
            let counts = isSent ? worker.sent : worker.received
            let way = isSent ? "to" : "from"
            try require(counts.isBalanced && counts.waiting == 0, "\(way) \(worker.worker): \(counts)")
        }
    }

    // MARK: - Everything that a host can be asked

    private var look: @Sendable () -> Void {
        let (bridge, publisher) = (bridge, publisher)
        return {
            for worker in bridge.statistics { _ = worker.sent.isBalanced && worker.received.isBalanced }
            _ = (bridge.status, bridge.clients, bridge.deadLetters)
            // The request that a client sends for the host's status.
            publisher.publish(BridgeStatusRequested())
        }
    }

    // MARK: - The end

    /// Ends the host in good order.
    func end() throws {
        awaitOrder()
        stage.end()
        try finish { [bridge] in await bridge.shutdown() }
        try checkBooks(ofSent: true)
        try checkBooks(ofSent: false)
        // A new descriptor has the lowest free number, which shows how many are open.
        let free = try UnixSocket.unconnected().rawValue
        try require(free < 200, "descriptor \(free) is the first one that is free")
    }

    /// Returns when `body` has returned; throws if `body` hangs.
    private func finish(_ body: @escaping @Sendable () async -> Void) throws {
        let lock = Lock()
        let done = Condition(lock: lock)
        nonisolated(unsafe) var isDone = false
        Task {
            await body()
            lock.withLock {
                isDone = true
                done.broadcast()
            }
        }
        let isInTime = lock.withLock {
            var patience = Patience()
            while !isDone, patience.wait(for: done) {}
            return isDone
        }
        try require(isInTime, "it hangs: \(bridge.status), \(bridge.statistics.map(\.sent))")
    }
}
