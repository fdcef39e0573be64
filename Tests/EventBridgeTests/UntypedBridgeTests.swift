import BridgeClient
import CBOR
import DomainEvents
import EventBridge
import EventBridgeTesting
import TestSupport
import Testing

@Suite("Events without a type between processes", .timeLimit(.minutes(5)))
struct UntypedBridgeTests {
    private let publisher = EventPublisher()

    private func payload(of number: Int) throws -> [UInt8] { try CBOREncoder().encode(ErrandGiven(number: number)) }

    @Test("a worker without types gets the events of typed peers, byte for byte, and answers typed peers")
    func typedAndUntyped() async throws {
        let done = Collected<Int>()
        let seen = Collected<UntypedEvent>()
        let passed = Collected<UntypedEvent>()
        let subscription = publisher.subscribe(to: ErrandDone.self) { done.add($0.number) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway", subscribes: [ErrandGiven.self]) { publisher in
                    [
                        try publisher.subscribe(toEventsNamed: "ErrandGiven") { event async throws in
                            seen.add(event)
                            try publisher.publish(UntypedEvent(name: "ErrandDone", payload: event.payload))
                        }
                    ]
                },
                InMemoryWorker("logger", subscribes: [ErrandDone.self]) { publisher in
                    [
                        try publisher.subscribe(toEventsNamed: "ErrandDone") { (event: UntypedEvent) in
                            passed.add(event)
                        }
                    ]
                },
            ]
        )
        for number in 1...100 { publisher.publish(ErrandGiven(number: number)) }
        #expect(await done.wait(for: 100) == Array(1...100))
        let expected = try (1...100).map { try UntypedEvent(name: "ErrandGiven", payload: payload(of: $0)) }
        #expect(seen.all == expected)
        // From worker to worker the host passes the bytes on, and decodes only its own copy.
        #expect(await passed.wait(for: 100).map(\.payload) == seen.all.map(\.payload))
        let receipt = try await publisher.deliver(ErrandGiven(number: 101), within: .seconds(120))
        #expect(receipt.handlers == ["gateway": 1])
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("a host without types publishes, sends and delivers to a typed worker, whose errors come back")
    func untypedHost() async throws {
        let given = Collected<Int>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker(subscribes: [ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { errand in
                            if errand.number == 4 { throw ErrandBroken() }
                            given.add(errand.number)
                        }
                    ]
                }
            ]
        )
        func event(_ number: Int) throws -> UntypedEvent {
            try UntypedEvent(name: "ErrandGiven", payload: try payload(of: number))
        }
        try publisher.publish(event(1))
        try await publisher.send(event(2))
        #expect(try await publisher.deliver(event(3), within: .seconds(120)).handlers == ["worker": 1])
        #expect(given.all == [1, 2, 3])
        let refused = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(event(4), within: .seconds(120))
        }
        #expect(refused?.code == .refused && refused?.worker == "worker")
        // One item, but not an errand.
        let undecodable = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(UntypedEvent(name: "ErrandGiven", payload: [0x07]), within: .seconds(120))
        }
        #expect(undecodable?.code == .refused && undecodable?.description.contains("Expected") == true)
        await bridge.shutdown()
    }

    @Test("each side sees which names the other side wants, as the wishes change")
    func wantedNames() async throws {
        let wanted = Collected<[String]>()
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            Task { for await names in publisher.wantedEventNames { wanted.add(names) } }
            return [
                publisher.subscribe(to: ErrandsBegun.self) { _ in },
                try publisher.subscribe(toEventsNamed: "ErrandGiven") { (_: UntypedEvent) in },
            ]
        }
        var here = publisher.wantedEventNames.makeAsyncIterator()
        var names = await here.next() ?? []
        while !Set(names).isSuperset(of: ["ErrandGiven", "ErrandsBegun"]) { names = try #require(await here.next()) }
        let one = try publisher.subscribe(toEventsNamed: "ErrandDone") { (_: UntypedEvent) in }
        await wanted.wait { $0.last?.contains("ErrandDone") == true }
        let other = publisher.subscribe(to: ErrandReport.self) { _ in }
        await wanted.wait { $0.last.map { Set($0).isSuperset(of: ["ErrandDone", "ErrandReport"]) } == true }
        one.cancel()
        await wanted.wait { $0.last.map { $0.contains("ErrandReport") && !$0.contains("ErrandDone") } == true }
        await bridge.shutdown()
        other.cancel()
    }

    @Test("a client without types publishes to the host and gets its events")
    func client() async throws {
        let home = try AttachHome()
        let worker = InMemoryWorker("errands", subscribes: [ErrandGiven.self]) { publisher in
            [publisher.subscribe(to: ErrandGiven.self) { publisher.publish(ErrandDone(number: $0.number)) }]
        }
        let (bridge, kept) = try await home.start(workers: [worker])
        let done = Collected<UntypedEvent>()
        let publisher = EventPublisher()
        let client = try await home.attach(publisher)
        let subscription = try publisher.subscribe(toEventsNamed: "ErrandDone") { (event: UntypedEvent) in
            done.add(event)
        }
        var wanted = publisher.wantedEventNames.makeAsyncIterator()
        while await wanted.next()?.contains("ErrandGiven") == false {}
        let seven = try payload(of: 7)
        try publisher.publish(UntypedEvent(name: "ErrandGiven", payload: seven))
        #expect(await done.wait(for: 1).map(\.payload) == [seven])
        for report in ["HostLost", "CommandAnswered"] {
            let refused = #expect(throws: DeliveryError.self) {
                _ = try publisher.subscribe(toEventsNamed: report) { (_: UntypedEvent) in }
            }
            #expect(refused?.code == .nameHasType)
        }
        await client.close()
        await bridge.shutdown()
        subscription.cancel()
        withExtendedLifetime(kept) {}
    }

    @Test("a host keeps the names of its own reports")
    func reservedNames() async throws {
        let bridge = try await BridgeHost.inMemory(publisher) { _ in [] }
        for report in ["WorkerExited", "ControlSocketReported", "BridgeStopRequested", "BridgeStatusReported"] {
            let refused = #expect(throws: DeliveryError.self) {
                _ = try publisher.subscribe(toEventsNamed: report) { (_: UntypedEvent) in }
            }
            #expect(refused?.code == .nameHasType)
        }
        await bridge.shutdown()
    }
}
