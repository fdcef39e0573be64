import BridgePlatform
import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting
import Locks
import Supervision

struct Asked: DomainEvent, Codable {
    let number: Int
}

struct Answered: DomainEvent, Codable {
    let number: Int
}

struct Measured: DomainEvent, Codable {
    let number: Int
}

struct Filled: DomainEvent, Codable {
    let number: Int
    let filling: [UInt8]
}

/// What was accepted and what was handled, of one kind of event at one kind of receiver.
final class Fates: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var accepted: Set<EventID> = []
    private var handled: [EventID: Int] = [:]
    private var put: Set<EventID> = []
    private var isClosed = false

    func accepts(_ id: EventID) { lock.withLock { if !isClosed { accepted.insert(id) } } }

    /// What is accepted from now on need not be handled when everything is at rest: it goes on coming.
    func close() { lock.withLock { isClosed = true } }

    /// In a handler.
    func handles() {
        guard let context = EventContext.current else { return }
        lock.withLock { handled[context.id, default: 0] += 1 }
    }

    func putAside(_ ids: [EventID]) { lock.withLock { put.formUnion(ids) } }

    var handledCount: Int { lock.withLock { handled.count } }
    var acceptedCount: Int { lock.withLock { accepted.count } }

    /// Throws unless every accepted event was handled or put aside.
    func check(_ what: String) throws {
        let missing = lock.withLock { accepted.subtracting(handled.keys).subtracting(put) }
        guard missing.isEmpty else {
            let names = missing.sorted { ($0.origin, $0.number) < ($1.origin, $1.number) }.prefix(8).map(\.description)
            throw SimulationError(
                "of \(what), \(missing.count) were accepted and never handled: \(names.joined(separator: ", "))"
            )
        }
    }

    /// Throws unless every handled event was handled once.
    func checkOnce(_ what: String) throws {
        let again = lock.withLock { handled.filter { $0.value > 1 } }
        guard again.isEmpty else { throw SimulationError("of \(what), \(again.count) were handled more than once") }
    }
}

/// Runs of hosts and workers in which something always has to come true.
enum Scenarios {
    /// Two workers: one answers, one listens; the host asks.
    @Sendable static func askAndAnswer(_ world: SimulationWorld) async throws {
        try await askAndAnswer(world, events: 100)
    }

    @Sendable static func askAndAnswer(_ world: SimulationWorld, events: Int) async throws {
        let (asked, answered) = (Fates(), Fates())
        let publisher = EventPublisher()
        let kept = publisher.subscribe(to: Answered.self) { (_: Answered) in answered.handles() }
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("answering", subscribes: [Asked.self]) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) {
                            publisher.publish(Answered(number: $0.number))
                            asked.handles()
                        }
                    ]
                },
                InMemoryWorker("listening", subscribes: [Answered.self]) { publisher in
                    [publisher.subscribe(to: Answered.self) { (_: Answered) in }]
                },
            ]
        )
        for number in 0..<events { asked.accepts(try await publisher.send(Asked(number: number))) }
        try await world.rest(within: .seconds(120))
        asked.putAside(host.deadLetters.map(\.eventID))
        try asked.check("questions")
        if world.faultsMet.isEmpty { try asked.checkOnce("questions") }
        if host.deadLetters.isEmpty, answered.handledCount < events {
            throw SimulationError("only \(answered.handledCount) of \(events) answers came")
        }
        withExtendedLifetime(kept) {}
    }

    /// A worker that publishes by itself while it is restarted, stopped and replaced: what it has accepted arrives, whatever ends it.
    @Sendable static func orderlyEnds(_ world: SimulationWorld) async throws {
        let (sent, asked) = (Fates(), Fates())
        let publisher = EventPublisher()
        let kept = publisher.subscribe(to: Measured.self) { (_: Measured) in sent.handles() }
        let measuring = InMemoryWorker("measuring", subscribes: [Asked.self]) { publisher in
            world.task {
                for number in 0..<400 {
                    sent.accepts(try await publisher.send(Measured(number: number)))
                    try await world.sleep(for: .microseconds(300))
                }
            }
            return [publisher.subscribe(to: Asked.self) { (_: Asked) in asked.handles() }]
        }
        let host = try await world.start(publisher, workers: [measuring])
        for round in 0..<12 {
            try await world.sleep(for: .milliseconds(7))
            for number in 0..<5 { asked.accepts(try await publisher.send(Asked(number: round * 10 + number))) }
            switch world.number(below: 3) {
            case 0: host.restart("measuring")
            case 1:
                host.stop("measuring")
                try await world.sleep(for: .milliseconds(3))
                host.restart("measuring")
            default: _ = try? await host.replace("measuring", with: measuring.specification)
            }
        }
        sent.close()
        try await world.rest(within: .seconds(200))
        try sent.check("measurements")
        try sent.checkOnce("measurements")
        asked.putAside(host.deadLetters.map(\.eventID))
        try asked.check("questions")
        // One that stands still longer than its grace is ended by a signal.
        if world.faultsMet["crash"] == nil, world.faultsMet["stop"] == nil { try asked.checkOnce("questions") }
        withExtendedLifetime(kept) {}
    }

    /// Three stages of which the last is slow: nobody's memory grows without a bound, and everything arrives.
    @Sendable static func pipeline(_ world: SimulationWorld) async throws {
        let (first, second) = (Fates(), Fates())
        let publisher = EventPublisher()
        let limits = WorkerLimits(outbox: 16 << 10, outboxHardLimit: 64 << 10)
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("middle", subscribes: [Asked.self], limits: limits) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) {
                            publisher.publish(Filled(number: $0.number, filling: Array(repeating: 7, count: 1_000)))
                            first.handles()
                        }
                    ]
                },
                InMemoryWorker("slow", subscribes: [Filled.self], limits: limits) { publisher in
                    [
                        publisher.subscribe(to: Filled.self) { (_: Filled) async throws in
                            try await world.sleep(for: .milliseconds(2))
                            second.handles()
                        }
                    ]
                },
            ]
        )
        for number in 0..<60 { first.accepts(try await publisher.send(Asked(number: number))) }
        try await world.rest(within: .seconds(300))
        first.putAside(host.deadLetters.map(\.eventID))
        try first.check("questions")
        if host.deadLetters.isEmpty, second.handledCount < 60 {
            throw SimulationError("only \(second.handledCount) of 60 came through")
        }
    }

    /// Calls that wait for outcomes, from the host and from a worker, end with one: an answer or an error.
    @Sendable static func waiting(_ world: SimulationWorld) async throws {
        let publisher = EventPublisher()
        try await world.start(
            publisher,
            workers: [
                InMemoryWorker("answering", subscribes: [Asked.self]) { publisher in
                    [publisher.subscribe(to: Asked.self) { publisher.publish(Answered(number: $0.number)) }]
                },
                InMemoryWorker("asking", subscribes: [Measured.self]) { publisher in
                    [
                        publisher.subscribe(to: Measured.self) { (event: Measured) async throws in
                            let answer = try await publisher.request(
                                Asked(number: event.number),
                                awaiting: Answered.self,
                                within: .seconds(30)
                            )
                            guard answer.number == event.number else {
                                world.fail("\(event.number) was answered by \(answer.number)")
                                return
                            }
                        }
                    ]
                },
            ]
        )
        for number in 0..<20 {
            do {
                let answer = try await publisher.request(
                    Asked(number: number),
                    awaiting: Answered.self,
                    within: .seconds(60)
                )
                guard answer.number == number else {
                    throw SimulationError("\(number) was answered by \(answer.number)")
                }
                _ = try await publisher.deliver(Measured(number: 1_000 + number), within: .seconds(60))
            } catch let error as DeliveryError {
                world.note("\(number): \(error)")
            }
        }
        try await world.rest(within: .seconds(300))
    }

    /// A pool: each event comes to one member, and what one does not finish another start of it does.
    @Sendable static func pool(_ world: SimulationWorld) async throws {
        let fates = Fates()
        let publisher = EventPublisher()
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker(
                    "pool",
                    subscribes: [Asked.self],
                    pool: WorkerPool(3).keyed(Asked.self, byField: "number")
                ) { publisher in
                    [publisher.subscribe(to: Asked.self) { (_: Asked) in fates.handles() }]
                }
            ]
        )
        for number in 0..<90 { fates.accepts(try await publisher.send(Asked(number: number % 7))) }
        try await world.rest(within: .seconds(200))
        fates.putAside(host.deadLetters.map(\.eventID))
        try fates.check("questions")
        if world.faultsMet["crash"] == nil { try fates.checkOnce("questions") }
    }

    /// An event that ends each worker that handles it becomes a dead letter, and everything else flows on.
    @Sendable static func deadLetters(_ world: SimulationWorld) async throws {
        let fates = Fates()
        let publisher = EventPublisher()
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("handling", subscribes: [Asked.self, Measured.self]) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) { (_: Asked) in fates.handles() },
                        publisher.subscribe(to: Measured.self) { (_: Measured) in world.exitHere(.signal(11)) },
                    ]
                }
            ]
        )
        for number in 0..<20 { fates.accepts(try await publisher.send(Asked(number: number))) }
        let poison = try await publisher.send(Measured(number: 1))
        for number in 20..<40 { fates.accepts(try await publisher.send(Asked(number: number))) }
        try await world.rest(within: .seconds(300))
        let letters = host.deadLetters.map(\.eventID)
        guard letters.contains(poison) else {
            throw SimulationError("the event that ends workers is no dead letter: \(letters)")
        }
        fates.putAside(letters)
        try fates.check("questions")
    }

    /// A worker on demand is started for what comes and stopped when there is nothing.
    @Sendable static func onDemand(_ world: SimulationWorld) async throws {
        let fates = Fates()
        let publisher = EventPublisher()
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("rare", subscribes: [Asked.self], onDemand: OnDemand(idleTime: .seconds(1))) {
                    publisher in
                    [publisher.subscribe(to: Asked.self) { (_: Asked) in fates.handles() }]
                }
            ]
        )
        for number in 0..<30 {
            fates.accepts(try await publisher.send(Asked(number: number)))
            try await world.sleep(for: .milliseconds(Int64(world.number(below: 2_500))))
        }
        try await world.rest(within: .seconds(200))
        fates.putAside(host.deadLetters.map(\.eventID))
        try fates.check("questions")
    }

    /// A group whose members are started again together.
    @Sendable static func group(_ world: SimulationWorld) async throws {
        let fates = Fates()
        let publisher = EventPublisher()
        let workers = (1...3).map { number in
            InMemoryWorker("member\(number)", subscribes: [number == 1 ? Asked.self : Measured.self]) { publisher in
                [
                    publisher.subscribe(to: Asked.self) { publisher.publish(Measured(number: $0.number)) },
                    publisher.subscribe(to: Measured.self) { (_: Measured) in
                        if number == 3 { fates.handles() }
                    },
                ]
            }
        }
        let host = try await world.start(publisher, workers: workers, strategy: .oneForAll)
        for number in 0..<60 { _ = try await publisher.send(Asked(number: number)) }
        for number in 0..<20 { fates.accepts(try await publisher.send(Measured(number: 1_000 + number))) }
        try await world.rest(within: .seconds(300))
        fates.putAside(host.deadLetters.map(\.eventID))
        try fates.check("measurements")
    }

    /// Workers come and go while events flow.
    @Sendable static func reload(_ world: SimulationWorld) async throws {
        let fates = Fates()
        let publisher = EventPublisher()
        let handling = InMemoryWorker("handling", subscribes: [Asked.self]) { publisher in
            [publisher.subscribe(to: Asked.self) { (_: Asked) in fates.handles() }]
        }
        let guest = InMemoryWorker("guest", subscribes: [Asked.self]) { publisher in
            [publisher.subscribe(to: Asked.self) { publisher.publish(Answered(number: $0.number)) }]
        }
        let host = try await world.start(publisher, workers: [handling])
        world.task {
            for number in 0..<200 {
                fates.accepts(try await publisher.send(Asked(number: number)))
                try await world.sleep(for: .milliseconds(1))
            }
        }
        for _ in 0..<4 {
            try await world.sleep(for: .milliseconds(20))
            _ = try await world.apply([handling, guest], to: host)
            try await world.sleep(for: .milliseconds(20))
            _ = try await world.apply([handling], to: host, finishingWithin: .seconds(2))
        }
        try await world.sleep(for: .seconds(2))
        try await world.rest(within: .seconds(300))
        fates.putAside(host.deadLetters.map(\.eventID))
        try fates.check("questions")
    }

    /// On one queue of the publisher's own process nobody sees an effect before its cause.
    @Sendable static func causes(_ world: SimulationWorld) async throws {
        let asked = Received()
        let answered = Received()
        let publisher = EventPublisher()
        let queue = DispatchQueue(label: "both")
        let kept = [
            publisher.subscribe(to: Asked.self, on: .queue(queue)) { asked.add($0.number) },
            publisher.subscribe(to: Answered.self, on: .queue(queue)) { event in
                if !asked.all.contains(event.number) { world.fail("answer \(event.number) came before its question") }
                answered.add(event.number)
            },
        ]
        try await world.start(
            publisher,
            workers: [
                InMemoryWorker("answering", subscribes: [Asked.self]) { publisher in
                    [publisher.subscribe(to: Asked.self) { publisher.publish(Answered(number: $0.number)) }]
                }
            ]
        )
        for number in 0..<60 { publisher.publish(Asked(number: number)) }
        try await world.rest(within: .seconds(120))
        withExtendedLifetime(kept) {}
    }

    /// Who waits for room at a worker that is stopped, or given up, is told.
    @Sendable static func fullAndStopped(_ world: SimulationWorld) async throws {
        let publisher = EventPublisher()
        let over = Received()
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker("slow", subscribes: [Filled.self], limits: WorkerLimits(outbox: 8 << 10)) { publisher in
                    [
                        publisher.subscribe(to: Filled.self) { (_: Filled) async throws in
                            try await world.sleep(for: .milliseconds(1))
                        }
                    ]
                }
            ]
        )
        for sender in 0..<3 {
            world.task {
                for number in 0..<20 {
                    do {
                        _ = try await publisher.send(Filled(number: number, filling: Array(repeating: 1, count: 1_000)))
                    } catch let error as DeliveryError where error.code == .workerUnavailable {
                        break
                    }
                }
                over.add(sender)
            }
        }
        try await world.sleep(for: .microseconds(Int64(world.number(below: 20_000))))
        host.stop("slow")
        try await world.sleep(for: .seconds(30))
        guard over.all.count == 3 else { throw SimulationError("only \(over.all.count) of 3 senders were told") }
        host.restart("slow")
        try await world.rest(within: .seconds(200))
    }

    typealias Body = @Sendable (SimulationWorld) async throws -> Void

    /// The names of all, or of those in `EVENT_BRIDGE_SCENARIOS`.
    static let names: [String] = {
        guard let wanted = CurrentProcess.environment("EVENT_BRIDGE_SCENARIOS") else { return all.map(\.name) }
        return wanted.split(separator: " ").map(String.init)
    }()

    static let all: [(name: String, body: Body)] =
        promises + [
            ("askAndAnswer", askAndAnswer), ("orderlyEnds", orderlyEnds), ("pipeline", pipeline), ("waiting", waiting),
            ("pool", pool), ("deadLetters", deadLetters), ("onDemand", onDemand), ("group", group), ("reload", reload),
            ("causes", causes), ("fullAndStopped", fullAndStopped),
        ]
}
