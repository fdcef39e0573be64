import DomainEvents
import EventBridge
import EventBridgeTesting

/// What becomes of events when a worker ends: the rows of docs/reference/delivery.md.
extension Scenarios {
    /// A worker publishes by itself while it is restarted, stopped and replaced: the events that it has accepted
    /// arrive, whatever ends the worker.
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
        // A worker that stands still longer than its grace is ended by a signal.
        if !world.mayComeAgain { try asked.checkOnce("questions") }
        withExtendedLifetime(kept) {}
    }

    /// A worker that meets an end while events flow, with the events that it was to get and those that it published.
    struct Ending {
        let world: SimulationWorld
        let host: BridgeHost
        /// Describes the worker; takes the time for its handshake.
        let worker: @Sendable (Duration) -> InMemoryWorker
        let publisher: EventPublisher
        let asked: Fates
        let answered: Fates
        let sent: Fates

        /// Publishes some events for the worker; events that are not accepted have no receiver.
        func ask(_ numbers: Range<Int>) async throws {
            for number in numbers {
                do {
                    asked.accepts(try await publisher.send(Asked(number: number)))
                } catch let error as DeliveryError where error.code == .workerUnavailable {
                    continue
                }
            }
        }

        /// Waits for rest, and checks what is promised for an end after which the worker is started again.
        func check() async throws {
            sent.close()
            answered.close()
            try await world.rest(within: .seconds(200))
            asked.putAside(host.deadLetters.map(\.eventID))
            try asked.check("questions")
            if !world.mayComeAgain { try asked.checkOnce("questions") }
            try checkPublished()
        }

        func checkPublished() throws {
            try answered.check("answers")
            try answered.checkOnce("answers")
            try sent.check("measurements")
            try sent.checkOnce("measurements")
        }
    }

    /// A worker whose handlers and whose own task publish, and which meets `end` meanwhile.
    private static func ending(
        _ world: SimulationWorld,
        _ end: (Ending) async throws -> Void
    ) async throws {
        let (asked, answered, sent) = (Fates(), Fates(), Fates())
        let publisher = EventPublisher()
        let kept = [
            publisher.subscribe(to: Answered.self) { (_: Answered) in answered.handles() },
            publisher.subscribe(to: Measured.self) { (_: Measured) in sent.handles() },
        ]
        let worker: @Sendable (Duration) -> InMemoryWorker = { handshake in
            InMemoryWorker("working", subscribes: [Asked.self], handshakeTimeout: handshake) { publisher in
                world.task {
                    for number in 0..<150 {
                        sent.accepts(try await publisher.send(Measured(number: number)))
                        try await world.sleep(for: .microseconds(300))
                    }
                }
                return [
                    publisher.subscribe(to: Asked.self) { (event: Asked) async throws in
                        answered.accepts(try await publisher.send(Answered(number: event.number)))
                        asked.handles()
                    }
                ]
            }
        }
        let host = try await world.start(publisher, workers: [worker(.seconds(10))])
        let ending = Ending(
            world: world,
            host: host,
            worker: worker,
            publisher: publisher,
            asked: asked,
            answered: answered,
            sent: sent
        )
        try await ending.ask(0..<20)
        try await world.sleep(for: .microseconds(Int64(world.number(below: 20_000))))
        try await end(ending)
        withExtendedLifetime(kept) {}
    }

    @Sendable static func restarted(_ world: SimulationWorld) async throws {
        try await ending(world) {
            $0.host.restart("working")
            try await $0.ask(20..<40)
            try await $0.check()
        }
    }

    @Sendable static func stopped(_ world: SimulationWorld) async throws {
        try await ending(world) {
            $0.host.stop("working")
            try await $0.ask(20..<30)
            try await world.sleep(for: .seconds(1))
            $0.host.restart("working")
            try await $0.ask(30..<40)
            try await $0.check()
        }
    }

    @Sendable static func replaced(_ world: SimulationWorld) async throws {
        try await ending(world) {
            let host = $0.host
            world.task {
                do { try await host.replace("working") } catch { world.note("\(error)") }
            }
            try await $0.ask(20..<40)
            try await $0.check()
        }
    }

    /// A reload gives the worker another specification.
    @Sendable static func changed(_ world: SimulationWorld) async throws {
        try await ending(world) {
            _ = try? await world.apply([$0.worker(.seconds(11))], to: $0.host, finishingWithin: .seconds(5))
            try await $0.ask(20..<40)
            try await $0.check()
        }
    }

    /// A reload removes the worker: the events that it does not finish in its time become dead letters.
    @Sendable static func removed(_ world: SimulationWorld) async throws {
        try await ending(world) {
            try await $0.ask(20..<40)
            let other = InMemoryWorker("other") { _ in [] }
            _ = try? await world.apply([other], to: $0.host, finishingWithin: .milliseconds(500))
            try await $0.check()
        }
    }

    /// The bridge is shut down: the events that the worker does not finish are lost with the bridge, and counted.
    @Sendable static func shutDown(_ world: SimulationWorld) async throws {
        try await ending(world) {
            let report = await $0.host.shutdown(drainingWithin: .milliseconds(Int64(world.number(below: 200))))
            $0.asked.putAside($0.host.deadLetters.map(\.eventID))
            let left = report.leftovers.reduce(0) { $0 + $1.events }
            guard $0.asked.missingCount <= left else {
                throw SimulationError(
                    "\($0.asked.missingCount) questions were not handled, \(left) are said to be left"
                )
            }
            try $0.checkPublished()
        }
    }

    /// The worker is killed, or ends by itself with any status.
    @Sendable static func crashed(_ world: SimulationWorld) async throws {
        try await ending(world) {
            let exits: [SimulatedExit] = [.signal(9), .signal(11), .status(0), .status(1), .status(255)]
            world.crash("working", exits[world.number(below: exits.count)])
            try await $0.ask(20..<40)
            try await $0.check()
        }
    }

    /// The worker breaks the protocol: the events that it has published and the socket has not brought are lost, and
    /// the bridge reports that.
    @Sendable static func brokenProtocol(_ world: SimulationWorld) async throws {
        try await ending(world) {
            let lost = Received()
            let kept = $0.publisher.subscribe(to: EventsLost.self) { (_: EventsLost) in lost.add(1) }
            world.breakProtocol("working")
            try await $0.ask(20..<40)
            $0.sent.close()
            $0.answered.close()
            try await world.rest(within: .seconds(200))
            $0.asked.putAside($0.host.deadLetters.map(\.eventID))
            try $0.asked.check("questions")
            if lost.all.isEmpty { try $0.checkPublished() }
            withExtendedLifetime(kept) {}
        }
    }

    /// The host is killed: only what it held is lost with it, and the next host works with the same workers.
    @Sendable static func hostKilled(_ world: SimulationWorld) async throws {
        let present = Present()
        let workers = [
            InMemoryWorker("working", subscribes: [Asked.self]) { publisher in
                [
                    publisher.subscribe(to: Asked.self) {
                        publisher.publish(Answered(number: $0.number))
                        present.fates.handles()
                    }
                ]
            },
            InMemoryWorker("listening", subscribes: [Answered.self]) { publisher in
                [publisher.subscribe(to: Answered.self) { (_: Answered) in }]
            },
        ]
        let host = await world.startHost(workers: workers) { publisher, bridge in
            let fates = Fates()
            present.set(fates)
            let kept = publisher.subscribe(to: Answered.self) { (_: Answered) in }
            try await bridge.start()
            for number in 0..<40 {
                fates.accepts(try await publisher.send(Asked(number: number)))
                try await world.sleep(for: .microseconds(200))
            }
            return [kept]
        }
        if world.number(below: 2) == 0 {
            host.kill(startingAgainAfter: .milliseconds(Int64(world.number(below: 2_000))))
        }
        try await world.rest(within: .seconds(200))
        let fates = present.fates
        fates.putAside(host.bridge?.deadLetters.map(\.eventID) ?? [])
        guard fates.acceptedCount == 40 else { throw SimulationError("only \(fates.acceptedCount) were accepted") }
        try fates.check("questions")
    }
}
