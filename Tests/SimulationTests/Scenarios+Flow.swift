import DomainEvents
import EventBridge
import EventBridgeTesting

/// Events that flow, and receivers that do not keep up.
extension Scenarios {
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

    /// Three stages, the last of them slow: no process's memory grows without a bound, and everything arrives.
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

    /// A publisher that waits for room at a worker is told when the worker is stopped or given up.
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
        // Longer than the worker's end takes, even if everything stands still meanwhile.
        try await world.sleep(for: .seconds(120))
        guard over.all.count == 3 else { throw SimulationError("only \(over.all.count) of 3 senders were told") }
        host.restart("slow")
        try await world.rest(within: .seconds(200))
    }

    /// A worker dies in the middle of much work: the events that it has left wait at the gate for room at a slow
    /// worker, and pass when there is room.
    @Sendable static func gate(_ world: SimulationWorld) async throws {
        let (fates, deaths) = (Fates(), Received())
        let publisher = EventPublisher()
        try await world.start(
            publisher,
            workers: [
                InMemoryWorker("bursting", subscribes: [Asked.self]) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) { (_: Asked) async throws in
                            // More than a window: the rest lies in the worker's own outbox when the worker dies.
                            for number in 0..<110 {
                                fates.accepts(try await publisher.send(BulkSent(number, bytes: 12_000)))
                            }
                            guard deaths.all.isEmpty else { return }
                            deaths.add(1)
                            world.exitHere(.signal(9))
                        }
                    ]
                },
                slowWorker(world, fates),
            ]
        )
        _ = try await publisher.send(Asked(number: 1))
        try await world.rest(within: .seconds(300))
        try fates.check("loads")
    }

    /// A worker publishes more than its window for a slow worker: the host keeps no more of it than its limits allow.
    @Sendable static func flood(_ world: SimulationWorld) async throws {
        let fates = Fates()
        let publisher = EventPublisher()
        try await world.start(
            publisher,
            workers: [
                InMemoryWorker("flooding", subscribes: [Asked.self]) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) { (_: Asked) async throws in
                            for number in 0..<60 {
                                fates.accepts(try await publisher.send(BulkSent(number, bytes: 24_000)))
                            }
                        }
                    ]
                },
                slowWorker(world, fates),
            ]
        )
        for number in 0..<2 { _ = try await publisher.send(Asked(number: number)) }
        try await world.rest(within: .seconds(300))
        try fates.check("loads")
    }

    /// A worker with little room and slow handlers.
    private static func slowWorker(_ world: SimulationWorld, _ fates: Fates) -> InMemoryWorker {
        let limits = WorkerLimits(outbox: 4 << 10, outboxHardLimit: 16 << 10)
        return InMemoryWorker("slow", subscribes: [BulkSent.self], limits: limits) { publisher in
            [
                publisher.subscribe(to: BulkSent.self) { (_: BulkSent) async throws in
                    try await world.sleep(for: .milliseconds(1))
                    fates.handles()
                }
            ]
        }
    }

    /// Events for which there is no room are dropped as the policies say, and each dropped event is announced.
    @Sendable static func overflow(_ world: SimulationWorld) async throws {
        let (latest, dropped, crowded) = (Received(), Received(), Received())
        let publisher = EventPublisher()
        let kept = publisher.subscribe(to: EventsDropped.self) {
            dropped.add($0.count)
            if $0.event == Asked.eventName { crowded.add($0.count) }
        }
        let limits = WorkerLimits(
            outbox: 4 << 10,
            overflow: [
                Asked.eventName: .latest(by: "number"), Answered.eventName: .dropOldest,
                Measured.eventName: .dropNewest,
            ]
        )
        let host = try await world.start(
            publisher,
            workers: [
                InMemoryWorker(
                    "narrow",
                    subscribes: [Asked.self, Answered.self, Measured.self],
                    limits: limits
                ) { publisher in
                    [
                        publisher.subscribe(to: Asked.self) { (event: Asked) async throws in
                            try await world.sleep(for: .milliseconds(1))
                            latest.add(event.number)
                        },
                        publisher.subscribe(to: Answered.self) { (_: Answered) in },
                        publisher.subscribe(to: Measured.self) { (_: Measured) in },
                    ]
                }
            ]
        )
        for number in 0..<150 {
            publisher.publish(Asked(number: number % 5))
            publisher.publish(Answered(number: number))
            publisher.publish(Measured(number: number))
        }
        try await world.rest(within: .seconds(200))
        // Losses are gathered before they are announced.
        try await world.sleep(for: .seconds(1))
        try await world.rest(within: .seconds(60))
        let put = host.deadLetters.count
        guard Set(latest.all).count == 5 || put > 0 || !crowded.all.isEmpty else {
            throw SimulationError("of five keys only \(Set(latest.all).sorted()) have come")
        }
        guard let counts = host.statistics.first?.sent else { throw SimulationError("there are no statistics") }
        guard counts.dropped == UInt64(dropped.all.reduce(0, +)) else {
            throw SimulationError("\(counts.dropped) were dropped, and \(dropped.all) announced")
        }
        withExtendedLifetime(kept) {}
    }
}
