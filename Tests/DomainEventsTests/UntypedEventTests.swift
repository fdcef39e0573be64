import Dispatch
import DomainEvents
import TestSupport
import Testing

@Suite("An event without a type", .timeLimit(.minutes(5)))
struct UntypedEventTests {
    private let publisher = EventPublisher()

    private func event(_ number: UInt8 = 0, name: String = "Parcel") throws -> UntypedEvent {
        try UntypedEvent(name: name, payload: [number])
    }

    @Test("holds exactly one well-formed item, and says what is wrong otherwise")
    func checksItsPayload() throws {
        #expect(try UntypedEvent(name: "Parcel", payload: [0xA1, 0x61, 0x6E, 0x07]).payload.count == 4)
        for (payload, text) in [
            ([], "The input ends in the middle of an item"),
            ([0x82, 0x01], "The input ends in the middle of an item"),
            ([0x01, 0x02], "Expected nothing after the item but found 1 more byte at byte 1."),
            ([0x61, 0xFF], "A text string is not valid UTF-8"),
            ([UInt8](repeating: 0x81, count: 65) + [0x00], "Values are nested more than 64 levels deep"),
        ] as [([UInt8], String)] {
            let error = #expect(throws: DeliveryError.self) { try UntypedEvent(name: "Parcel", payload: payload) }
            #expect(error?.code == .notEncodable && error?.event == "Parcel")
            #expect(error?.description.contains("Parcel was not taken: its payload is not one item of CBOR: ") == true)
            #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
        }
    }

    @Test("has a name that an event may have", arguments: ["", "*", String(repeating: "n", count: 257)])
    func checksItsName(name: String) {
        let error = #expect(throws: DeliveryError.self) { try UntypedEvent(name: name, payload: [0]) }
        #expect(error?.code == .notEncodable)
        let refused = #expect(throws: DeliveryError.self) {
            _ = try publisher.subscribe(toEventsNamed: name) { (_: UntypedEvent) in }
        }
        #expect(refused?.code == .notEncodable)
    }

    @Test("reaches every kind of subscriber of its name, in order, with its context, and no other")
    func reachesSubscribers() async throws {
        let inline = Collected<UInt8>()
        let queued = Collected<UInt8>()
        let awaited = Collected<UInt8>()
        let others = Collected<UInt8>()
        let queue = DispatchQueue(label: "parcels")
        let subscriptions = [
            try publisher.subscribe(toEventsNamed: "Parcel") { (event: UntypedEvent) in
                #expect(event.name == "Parcel" && EventContext.current?.id.origin == "host")
                inline.add(event.payload[0])
            },
            try publisher.subscribe(toEventsNamed: "Parcel", on: .queue(queue)) { queued.add($0.payload[0]) },
            try publisher.subscribe(toEventsNamed: "Parcel") { event async in
                await Task.yield()
                awaited.add(event.payload[0])
            },
            try publisher.subscribe(toEventsNamed: "Letter") { (event: UntypedEvent) in others.add(event.payload[0]) },
        ]
        let deliveries = try publisher.deliveries(ofEventsNamed: "Parcel")
        let cause = EventContext(id: EventID(origin: "a", incarnation: 1, number: 2), nanosecondsSinceEpoch: 3)
        let place = try #require(Traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
        try publisher.publish(event(1))
        try publisher.publish(event(2), causedBy: cause)
        try publisher.publish(event(3), traceparent: place)
        let id = try await publisher.send(event(4))
        try publisher.publish(event(9, name: "Letter"))
        #expect(inline.all == [1, 2, 3, 4])
        #expect(await queued.wait(for: 4) == [1, 2, 3, 4])
        #expect(await awaited.wait(for: 4) == [1, 2, 3, 4])
        #expect(others.all == [9])
        var iterator = deliveries.makeAsyncIterator()
        #expect(try await iterator.next()?.event == event(1))
        #expect(try await iterator.next()?.context.cause == cause.id)
        #expect(try await iterator.next()?.context.traceparent == place)
        let last = try #require(try await iterator.next())
        #expect(last.context.id == id && last.event.payload == [4])
        subscriptions.forEach { $0.cancel() }
    }

    @Test("counts its handlers for a caller that waits, and gives the caller their error")
    func isDelivered() async throws {
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(event(), within: .seconds(240))
        }
        #expect(error?.code == .noSubscriber && error?.event == "Parcel")
        let handled = Collected<UInt8>()
        let subscriptions = [
            try publisher.subscribe(toEventsNamed: "Parcel") { event async throws in
                if event.payload[0] == 7 { throw Refused(number: 7) }
                handled.add(event.payload[0])
            },
            try publisher.subscribe(toEventsNamed: "Parcel") { (_: UntypedEvent) in },
        ]
        let receipt = try await publisher.deliver(event(5), within: .seconds(240))
        #expect(handled.all == [5] && receipt.handlers.values.reduce(0, +) == 2)
        await #expect(throws: Refused(number: 7)) { try await publisher.deliver(event(7), within: .seconds(240)) }
        subscriptions.forEach { $0.cancel() }
    }

    @Test("is named in the report of a handler that throws, wherever the handler runs")
    func isNamedInReports() async throws {
        let failures = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: HandlerFailed.self) { failures.add($0.event) },
            try publisher.subscribe(toEventsNamed: "Parcel") { (_: UntypedEvent) in throw Refused(number: 1) },
            try publisher.subscribe(toEventsNamed: "Parcel", on: .queue(.global())) { _ in throw Refused(number: 2) },
            try publisher.subscribe(toEventsNamed: "Parcel") { _ async throws in throw Refused(number: 3) },
        ]
        try publisher.publish(event())
        #expect(await failures.wait(for: 3) == ["Parcel", "Parcel", "Parcel"])
        subscriptions.forEach { $0.cancel() }
    }

    @Test("waits for the end of its publisher's transaction")
    func waitsInTransactions() async throws {
        let handled = Collected<UInt8>()
        let subscription = try publisher.subscribe(toEventsNamed: "Parcel") { (event: UntypedEvent) in
            handled.add(event.payload[0])
        }
        try await publisher.transaction {
            try publisher.publish(event(1))
            try await publisher.send(event(2))
            #expect(handled.all.isEmpty)
        }
        #expect(handled.all == [1, 2])
        subscription.cancel()
    }

    @Test("cannot have the name of a type that its publisher has used, nor of a report")
    func nameHasType() throws {
        _ = publisher.subscribe(to: Ping.self) { _ in }
        let refused = #expect(throws: DeliveryError.self) { try publisher.publish(event(name: "Ping")) }
        #expect(refused?.code == .nameHasType && refused?.event == "Ping")
        #expect(refused?.description.contains("the name belongs to the type DomainEventsTests.Ping") == true)
        for report in ["HandlerFailed", "EventsDropped", "EventsTraced"] {
            let refused = #expect(throws: DeliveryError.self) { try publisher.deliveries(ofEventsNamed: report) }
            #expect(refused?.code == .nameHasType)
        }
        // Another publisher of the process is as far away as another process.
        try EventPublisher().publish(event(name: "Ping"))
    }

    @Test("keeps its name: a type of that name, used later, ends the process, and so does this type by itself")
    func typeComesLater() async throws {
        let later = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let publisher = EventPublisher()
            try publisher.publish(UntypedEvent(name: "Ping", payload: [0]))
            publisher.publish(Ping(1))
        }
        let text = String(decoding: later?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains("the type DomainEventsTests.Ping has the event name \"Ping\", which this publisher has used")
        )
        let itself = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = EventPublisher().subscribe(to: UntypedEvent.self) { _ in }
        }
        let reason = String(decoding: itself?.standardErrorContent ?? [], as: UTF8.self)
        #expect(reason.contains("events without a type have names of their own"))
    }
}

@Suite("The names that other processes want", .timeLimit(.minutes(5)))
struct WantedEventNamesTests {
    /// Carries nothing; other processes want its events, or do not.
    private final class Wish: EventForwarder {
        let isWantedElsewhere: Bool

        init(_ isWanted: Bool = true) {
            isWantedElsewhere = isWanted
        }

        func forward<E: DomainEvent>(
            _ event: E,
            context: BorrowedContext,
            ifFull: FullOutboxAction,
            receipts: ReceiptLedger?,
            held: inout HeldEvents?
        ) -> Forwarded { .taken }

        var hasRoom: Bool { true }
        func waitForRoom<E: DomainEvent>(for event: E) async throws {}
    }

    private func set(_ name: String, _ wish: Wish?, of publisher: EventPublisher) {
        publisher.setForwarding(of: name, by: publisher, to: wish)
        publisher.forwardingWasSet()
    }

    @Test("come at once and then with each change, and end with the publisher")
    func comeWithEachChange() async throws {
        var publisher: EventPublisher? = EventPublisher()
        do {
            let present = try #require(publisher)
            set("Parcel", Wish(), of: present)
            set("Tapped", Wish(false), of: present)
        }
        var names = try #require(publisher).wantedEventNames.makeAsyncIterator()
        #expect(await names.next() == ["Parcel"])
        set("Letter", Wish(), of: try #require(publisher))
        #expect(await names.next() == ["Letter", "Parcel"])
        set("Parcel", Wish(false), of: try #require(publisher))
        set("Letter", Wish(), of: try #require(publisher))
        set("Card", Wish(), of: try #require(publisher))
        #expect(await names.next() == ["Card", "Letter"])
        var late = try #require(publisher).wantedEventNames.makeAsyncIterator()
        #expect(await late.next() == ["Card", "Letter"])
        publisher = nil
        #expect(await names.next() == nil)
        #expect(await late.next() == nil)
    }

    @Test("end with the task that reads them")
    func endWithTheTask() async throws {
        let publisher = EventPublisher()
        let seen = Collected<[String]>()
        let task = Task { for await names in publisher.wantedEventNames { seen.add(names) } }
        await seen.wait(for: 1)
        task.cancel()
        await task.value
        #expect(seen.all == [[]])
    }
}
