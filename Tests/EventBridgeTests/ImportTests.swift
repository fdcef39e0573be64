import BridgeClient
import EventBridge
import EventBridgeTesting
import TestSupport
import Testing

@testable import DomainEvents

@Suite("Events of other machines", .timeLimit(.minutes(5)))
struct ImportTests {
    private struct Seen: Equatable {
        let payload: [UInt8]
        let id: EventID
        let time: UInt64
        let attempt: Int
        let cause: EventID?
        let root: EventID
        let traceparent: String?
        let settledBelow: UInt64?

        init(_ event: UntypedEvent, _ context: EventContext?) throws {
            let context = try #require(context)
            payload = event.payload
            id = context.id
            time = context.nanosecondsSinceEpoch
            attempt = context.attempt
            cause = context.cause
            root = context.root
            traceparent = context.traceparent?.description
            settledBelow = context.settledBelow
        }
    }

    private let publisher = EventPublisher()

    private static func id(_ origin: String, _ number: UInt64) -> EventID {
        EventID(origin: origin, incarnation: 0xfeed, number: number)
    }

    private static func imported(_ origin: String, _ number: UInt64) throws -> ImportedEvent {
        try ImportedEvent(UntypedEvent(name: "ErrandGiven", payload: [0x07]), id: id(origin, number))
    }

    private static func reader(_ name: String, _ seen: Collected<Seen>) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [ErrandGiven.self]) { publisher in
            [
                try publisher.subscribe(toEventsNamed: "ErrandGiven") { (event: UntypedEvent) in
                    seen.add(try Seen(event, EventContext.current))
                }
            ]
        }
    }

    @Test("an imported event keeps its identity, time, cause, root and trace, at the host and at other workers")
    func everythingIsKept() async throws {
        let trace = try #require(Traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        let (here, there) = (Collected<Seen>(), Collected<Seen>())
        let subscription = try publisher.subscribe(toEventsNamed: "ErrandGiven") { (event: UntypedEvent) in
            here.add(try Seen(event, EventContext.current))
        }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway", mayImport: true) { publisher in
                    #expect(publisher.mayImport)
                    let event = try UntypedEvent(name: "ErrandGiven", payload: [0x07])
                    let first = try ImportedEvent(
                        event,
                        id: Self.id("berlin/host", 5),
                        nanosecondsSinceEpoch: 1_700_000_000_000_000_007,
                        cause: Self.id("berlin/desk", 4),
                        root: Self.id("paris/host", 3),
                        traceparent: trace
                    )
                    try publisher.publish(importing: first)
                    // What may be a repeat says so.
                    let again = try ImportedEvent(event, id: Self.id("berlin/host", 5), attempt: 2)
                    try await publisher.send(importing: again)
                    return []
                },
                Self.reader("reader", there),
            ]
        )
        let received = await there.wait(for: 2)
        await here.wait(for: 2)
        #expect(here.all == received)
        let first = try #require(received.first)
        #expect(first.payload == [0x07] && first.id == Self.id("berlin/host", 5) && first.attempt == 1)
        #expect(first.time == 1_700_000_000_000_000_007 && first.traceparent == trace.description)
        #expect(first.cause == Self.id("berlin/desk", 4) && first.root == Self.id("paris/host", 3))
        #expect(received.map(\.attempt) == [1, 2] && received[1].id == first.id)
        // An importer may bring any event again.
        #expect(received.allSatisfy { $0.settledBelow == nil })
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test(
        "an imported event keeps its root even if its cause is not known, over the link and in the gateway itself",
        arguments: ["paris/host", "berlin/host", "host"]
    )
    func rootWithoutCause(_ origin: String) async throws {
        let (gateway, here, there) = (Collected<Seen>(), Collected<Seen>(), Collected<Seen>())
        let subscription = try publisher.subscribe(toEventsNamed: "ErrandGiven") { (event: UntypedEvent) in
            here.add(try Seen(event, EventContext.current))
        }
        let host = publisher.source.incarnation
        let root = EventID(origin: origin, incarnation: origin == "host" ? host : 0xfeed, number: 3)
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway", mayImport: true) { publisher in
                    let subscription = try publisher.subscribe(toEventsNamed: "ErrandGiven") { (event: UntypedEvent) in
                        gateway.add(try Seen(event, EventContext.current))
                    }
                    let event = try UntypedEvent(name: "ErrandGiven", payload: [0x07])
                    let trace = Traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
                    for number: UInt64 in 5...7 {
                        let id = Self.id("berlin/host", number)
                        let own = number == 7 ? trace : nil
                        try await publisher.send(importing: ImportedEvent(event, id: id, root: root, traceparent: own))
                    }
                    // An event that is its own root.
                    let id = Self.id("berlin/host", 8)
                    try await publisher.send(importing: ImportedEvent(event, id: id, root: id))
                    return [subscription]
                },
                Self.reader("reader", there),
            ]
        )
        for seen in [gateway, here, there] {
            let events = await seen.wait(for: 4)
            #expect(events.prefix(3).map(\.root) == [root, root, root])
            #expect(events.last?.root == Self.id("berlin/host", 8))
            #expect(events.allSatisfy { $0.cause == nil })
        }
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("an imported event whose root is a request answers the request, even if its cause is not known")
    func importedAnswer() async throws {
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway", subscribes: [ErrandGiven.self], mayImport: true) { publisher in
                    [
                        try publisher.subscribe(toEventsNamed: "ErrandGiven") { (_: UntypedEvent) in
                            let request = try #require(EventContext.current).id
                            // {"number": 1} and {"number": 2}; nothing is known of the cause of the first.
                            for (number, root) in [(1, nil), (2, request)] as [(UInt64, EventID?)] {
                                let payload = [0xA1, 0x66] + Array("number".utf8) + [UInt8(number)]
                                let event = try UntypedEvent(name: "ErrandDone", payload: payload)
                                let id = Self.id("berlin/host", number)
                                try publisher.publish(importing: ImportedEvent(event, id: id, root: root))
                            }
                        }
                    ]
                }
            ]
        )
        let answer = try await publisher.request(
            ErrandGiven(number: 7),
            awaiting: ErrandDone.self,
            within: .seconds(60)
        )
        #expect(answer.number == 2)
        await bridge.shutdown()
    }

    @Test("the events of each origin come in their order, also if many origins come in turns")
    func order() async throws {
        let seen = Collected<Seen>()
        let origins = (1...40).map { "node-\($0)/host" }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway", mayImport: true, handshakeTimeout: patience) { publisher in
                    for number: UInt64 in 1...50 {
                        for origin in origins { try await publisher.send(importing: Self.imported(origin, number)) }
                    }
                    return []
                },
                Self.reader("reader", seen),
            ]
        )
        let all = await seen.wait(for: 2_000)
        for origin in origins { #expect(all.filter { $0.id.origin == origin }.map(\.id.number) == Array(1...50)) }
        await bridge.shutdown()
    }

    @Test("a worker without the right is told so by the call, and nothing is published")
    func withoutRight() async throws {
        let errors = Collected<DeliveryError>()
        let seen = Collected<Seen>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway") { publisher in
                    #expect(!publisher.mayImport)
                    let event = try Self.imported("berlin/host", 1)
                    do throws(DeliveryError) { try publisher.publish(importing: event) } catch { errors.add(error) }
                    do {
                        try await publisher.send(importing: event)
                    } catch let error as DeliveryError {
                        errors.add(error)
                    }
                    try publisher.publish(UntypedEvent(name: "ErrandGiven", payload: [0x08]))
                    return []
                },
                Self.reader("reader", seen),
            ]
        )
        #expect(await seen.wait(for: 1).map(\.payload) == [[0x08]])
        #expect(errors.all.map(\.code) == [.mayNotImport, .mayNotImport])
        #expect(errors.all.first?.description.contains("its specification says `mayImport`") == true)
        await bridge.shutdown()
    }

    @Test("an attached client may import nothing")
    func client() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [])
        let publisher = EventPublisher()
        #expect(publisher.mayImport)
        let client = try await home.attach(publisher)
        let error = #expect(throws: DeliveryError.self) {
            try publisher.publish(importing: Self.imported("berlin/host", 1))
        }
        #expect(error?.code == .mayNotImport)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    /// Publishes under any identity, as only a hostile worker does.
    private static func forge(_ id: EventID, from publisher: EventPublisher) throws {
        let channel = try publisher.untypedChannel(named: "ErrandGiven")
        let subscribers = try #require(channel.currentSubscribers())
        let context = EventContext(id: id, nanosecondsSinceEpoch: 1)
        let event = try UntypedEvent(name: "ErrandGiven", payload: [0x07])
        _ = channel.publish(event, context: context, to: subscribers, from: publisher, ifFull: .drop)
    }

    @Test("a worker that imports without the right breaks the protocol")
    func violation() async throws {
        let reports = WorkerReports(publisher)
        let seen = Collected<Seen>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway", restart: .temporary) { publisher in
                    [
                        publisher.subscribe(to: ErrandsBegun.self) { _ in
                            try Self.forge(Self.id("berlin/host", 1), from: publisher)
                        }
                    ]
                },
                Self.reader("reader", seen),
            ]
        )
        publisher.publish(ErrandsBegun())
        let exits = await reports.exits.wait(for: 1)
        #expect(
            exits.first?.reason
                == "broke the protocol: event 1 bears the identity of another process, and the peer may not import events"
        )
        #expect(seen.all.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "an importer that speaks for the host, for another worker or for another start of itself breaks the protocol",
        arguments: ["host", "reader", "gateway", "client-1"],
        [true, false]
    )
    func stolenIdentity(_ origin: String, isPresent: Bool) async throws {
        let reports = WorkerReports(publisher)
        let seen = Collected<Seen>()
        let host = publisher.source.incarnation
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway", mayImport: true, restart: .temporary) { publisher in
                    [
                        publisher.subscribe(to: ErrandsBegun.self) { _ in
                            let id = EventID(origin: origin, incarnation: isPresent ? host : 0xfeed, number: 1)
                            try Self.forge(id, from: publisher)
                        }
                    ]
                },
                Self.reader("reader", seen),
            ]
        )
        publisher.publish(ErrandsBegun())
        let exits = await reports.exits.wait(for: 1)
        #expect(exits.first?.reason.contains("event 1 bears the identity of a process of this bridge") == true)
        #expect(seen.all.isEmpty)
        await bridge.shutdown()
        reports.end()
    }

    @Test("what an importer may publish holds for imported events, too")
    func publishes() async throws {
        let refused = Collected<EventRefused>()
        let seen = Collected<Seen>()
        let subscription = publisher.subscribe(to: EventRefused.self) { refused.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("gateway", publishes: [ErrandDone.self], mayImport: true) { publisher in
                    try publisher.publish(importing: Self.imported("berlin/host", 1))
                    return []
                },
                Self.reader("reader", seen),
            ]
        )
        let refusal = try #require(await refused.wait(for: 1).first)
        #expect(refusal.reason.contains("worker \"gateway\" may not publish ErrandGiven"))
        #expect(seen.all.isEmpty)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("only a process of another machine can be the origin of an imported event")
    func origins() throws {
        let event = try UntypedEvent(name: "ErrandGiven", payload: [0x07])
        let local = #expect(throws: DeliveryError.self) { try ImportedEvent(event, id: Self.id("host", 1)) }
        #expect(local?.description.contains("\"host\" is no process of another machine") == true)
        let long = String(repeating: "x", count: 250) + "/worker"
        #expect(throws: DeliveryError.self) { try ImportedEvent(event, id: Self.id(long, 1)) }
        #expect(throws: DeliveryError.self) {
            try ImportedEvent(event, id: Self.id("berlin/host", 1), cause: Self.id("", 1))
        }
        #expect(Self.id("berlin/host", 1).isForeign && !Self.id("berlin", 1).isForeign)
        #expect(EventID("berlin/host-feed-1") == Self.id("berlin/host", 1))
    }
}
