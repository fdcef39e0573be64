import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision

/// When workers are started.
extension Scenarios {
    /// A worker on demand is started when an event comes and stopped when there is nothing to do.
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
        let sending = world.task {
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
        // A host that is shut down accepts no more events.
        await sending.value
        try await world.rest(within: .seconds(300))
        fates.putAside(host.deadLetters.map(\.eventID))
        try fates.check("questions")
    }

    /// Rest-for-one: when a worker ends, the workers behind it are started again with it.
    @Sendable static func restOfGroup(_ world: SimulationWorld) async throws {
        let fates = Fates()
        let publisher = EventPublisher()
        let workers = (1...3).map { number in
            InMemoryWorker("member\(number)", subscribes: number == 3 ? [Measured.self] : [Asked.self]) { publisher in
                [
                    publisher.subscribe(to: Asked.self) {
                        if number == 1 { publisher.publish(Measured(number: $0.number)) }
                        fates.handles()
                    },
                    publisher.subscribe(to: Measured.self) { (_: Measured) in },
                ]
            }
        }
        let host = try await world.start(publisher, workers: workers, strategy: .restForOne)
        for number in 0..<40 {
            fates.accepts(try await publisher.send(Asked(number: number)))
            if number == 20 { world.crash("member2") }
        }
        try await world.rest(within: .seconds(300))
        fates.putAside(host.deadLetters.map(\.eventID))
        try fates.check("questions")
    }
}
