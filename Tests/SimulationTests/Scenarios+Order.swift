import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting

/// The order of events, and the receivers that get them.
extension Scenarios {
    /// On one queue of the publisher's own process no subscriber sees an effect before its cause.
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
        for number in 0..<60 {
            publisher.publish(Asked(number: number))
            // On a line that is busy a question waits for the next batch; on an idle one its answer may come at once.
            if number % 2 == 0 { try await world.sleep(for: .microseconds(Int64(world.number(below: 5_000)))) }
        }
        try await world.rest(within: .seconds(120))
        withExtendedLifetime(kept) {}
    }

    /// A pool: each event comes to one member, and the member's next process finishes what the one before did not.
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
        if !world.mayComeAgain { try fates.checkOnce("questions") }
    }

    /// A publisher that is held up until its receiver is gone reaches the receiver that has taken the place.
    @Sendable static func heldUp(_ world: SimulationWorld) async throws {
        let (fates, givenUp) = (Fates(), Received())
        let publisher = EventPublisher()
        let kept = publisher.subscribe(to: WorkerGaveUp.self) { (_: WorkerGaveUp) in givenUp.add(1) }
        let workers = (0...4).map { number in
            InMemoryWorker("receiver\(number)", subscribes: [Drafted.self]) { publisher in
                [publisher.subscribe(to: Drafted.self) { (_: Drafted) in fates.handles() }]
            }
        }
        let host = try await world.start(publisher, workers: [workers[0]])
        for (number, next) in workers.dropFirst().enumerated() {
            let length = world.number(below: 4_000_000)
            let publishing = world.task {
                do {
                    fates.accepts(try await publisher.send(Drafted(number, microseconds: length)))
                } catch let error as DeliveryError where error.code == .workerUnavailable && !givenUp.all.isEmpty {
                    world.note("\(error)")
                }
            }
            _ = try await world.apply([next], to: host, finishingWithin: .seconds(2))
            await publishing.value
        }
        try await world.rest(within: .seconds(300))
        fates.putAside(host.deadLetters.map(\.eventID))
        try fates.check("drafts")
        withExtendedLifetime(kept) {}
    }

    /// An event for a pool comes to one member, even if another receiver goes away while the event is published.
    @Sendable static func poolAndGuest(_ world: SimulationWorld) async throws {
        let members = Members()
        let publisher = EventPublisher()
        let pool = InMemoryWorker("pool", subscribes: [Drafted.self], pool: WorkerPool(3)) { publisher in
            let member = publisher.source.origin
            return [publisher.subscribe(to: Drafted.self) { (_: Drafted) in members.handles(at: member) }]
        }
        let guest = InMemoryWorker("guest", subscribes: [Drafted.self]) { publisher in
            [publisher.subscribe(to: Drafted.self) { (_: Drafted) in }]
        }
        let host = try await world.start(publisher, workers: [pool, guest])
        for round in 0..<3 {
            let length = world.number(below: 20_000)
            let publishing = world.task { publisher.publish(Drafted(round, microseconds: length)) }
            _ = try await world.apply([pool], to: host, finishingWithin: .seconds(2))
            await publishing.value
            _ = try await world.apply([pool, guest], to: host)
        }
        try await world.rest(within: .seconds(300))
        try members.check()
    }
}
