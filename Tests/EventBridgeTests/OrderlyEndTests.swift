import DomainEvents
import EventBridge
import EventBridgeTesting
import Locks
import Supervision
import TestSupport
import Testing

@Suite("A worker that ends in good order loses nothing and repeats nothing", .serialized, .timeLimit(.minutes(5)))
struct OrderlyEndTests {
    private let publisher = EventPublisher()

    enum End: CaseIterable, Sendable {
        case restart, replace, stop, reload

        func isBrought(about bridge: BridgeHost) async throws {
            switch self {
            case .restart: bridge.restart("sensor")
            case .replace: try await bridge.replace("sensor")
            case .stop:
                bridge.stop("sensor")
                for await status in bridge.statusUpdates where status["sensor"]?.state == .stopped { break }
                bridge.restart("sensor")
            case .reload:
                // A worker in a flood is never quiet: it takes all of the time that it is given.
                try await bridge.apply([], finishingWithin: .milliseconds(100))
                try await bridge.apply([WorkerSpecification("sensor", executable: .path("in memory"))])
            }
        }
    }

    /// The events that the starts of a worker have sent from a task of their own, and what became of them.
    private final class Books: @unchecked Sendable {
        // Sendable: everything mutable is guarded by `lock`.
        private let lock = Lock()
        private var accepted: [Int: Int] = [:]
        private var received: [Int: [Int]] = [:]
        private var openLives = 0
        private var lives = 0

        /// How many numbers a life has.
        private static let span = 100_000_000

        func beginLife() -> Int {
            lock.withLock {
                lives += 1
                openLives += 1
                return lives
            }
        }

        func endLife() { lock.withLock { openLives -= 1 } }

        func number(_ index: Int, of life: Int) -> Int { life * Self.span + index }
        func wasAccepted(_ index: Int, of life: Int) { lock.withLock { accepted[life] = index } }
        func cameIn(_ number: Int) {
            lock.withLock { received[number / Self.span, default: []].append(number % Self.span) }
        }

        func count(of life: Int) -> Int { lock.withLock { received[life]?.count ?? 0 } }
        var livesBegun: Int { lock.withLock { lives } }
        var areLivesOver: Bool { lock.withLock { openLives == 0 } }

        /// What is wrong, in words.
        var mistakes: [String] {
            lock.withLock {
                (1...lives).compactMap { life in
                    let (sent, came) = (accepted[life] ?? 0, received[life] ?? [])
                    return came == Array(1...max(sent, 1)) ? nil : "life \(life): \(sent) accepted, \(came.count) came"
                }
            }
        }
    }

    @Test("what its own tasks have sent arrives, whichever way it is asked to end", arguments: End.allCases)
    func ownTasks(end: End) async throws {
        let books = Books()
        let subscription = publisher.subscribe(to: ErrandDone.self) { books.cameIn($0.number) }
        let sensor = InMemoryWorker("sensor") { publisher in
            let life = books.beginLife()
            Task.detached {
                var index = 0
                // A real process would be gone by then.
                while (try? await publisher.send(ErrandDone(number: books.number(index + 1, of: life)))) != nil {
                    index += 1
                    books.wasAccepted(index, of: life)
                    await Task.yield()
                }
                books.endLife()
            }
            return []
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [sensor])
        let lives = rounds(10, atLeast: 2)
        for round in 1...lives {
            while books.count(of: round) < 50 { await Task.yield() }
            try await end.isBrought(about: bridge)
            while books.livesBegun == round { await Task.yield() }
        }
        while books.count(of: lives + 1) < 50 { await Task.yield() }
        await bridge.shutdown()
        while !books.areLivesOver { await Task.yield() }
        #expect(books.mistakes.isEmpty)
        subscription.cancel()
    }

    @Test("nothing new is sent to a worker that has been asked to end: its next start gets it, at the first attempt")
    func nothingNew() async throws {
        let gate = ErrandGate()
        let begun = Collected<Int>()
        let handled = Collected<ErrandReport>()
        let subscription = publisher.subscribe(to: ErrandReport.self) { handled.add($0) }
        // The worker is given time to end, and ends once the gate is open.
        let worker = InMemoryWorker(shutdown: .draining(grace: patience, terminate: patience)) { publisher in
            begun.add(0)
            let start = begun.count
            return [
                publisher.subscribe(to: ErrandGiven.self) { errand async in
                    let attempt = EventContext.current?.attempt ?? 0
                    publisher.publish(
                        ErrandReport(text: "event \(errand.number) in start \(start), attempt \(attempt)")
                    )
                    if errand.number == 1 { await gate.pass() }
                }
            ]
        }
        let bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        publisher.publish(ErrandGiven(number: 1))
        await handled.wait(for: 1)
        bridge.restart("worker")
        for await status in bridge.statusUpdates where status["worker"]?.state == .draining { break }
        publisher.publish(ErrandGiven(number: 2))
        gate.open()
        let reports = await handled.wait(for: 2).map(\.text)
        #expect(reports == ["event 1 in start 1, attempt 1", "event 2 in start 2, attempt 1"])
        await bridge.shutdown()
        subscription.cancel()
    }
}
