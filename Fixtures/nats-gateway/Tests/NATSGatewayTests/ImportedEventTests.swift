import DomainEvents
import Testing

@testable import NATSGateway
@testable import nats_gateway

/// What the host gets of an event of another node.
@Suite struct ImportedEventTests {
    private static let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private func event(
        id: String = "orders-1f-12",
        time: String? = nil,
        cause: String? = nil,
        root: String? = nil,
        attempt: Int = 1
    ) throws -> NATSGateway.ImportedEvent {
        let headers = EventHeaders(
            id: id,
            source: "orders",
            name: "Counted",
            time: time,
            cause: cause,
            root: root,
            traceparent: Self.traceparent,
            path: [try node("berlin")],
            attempt: attempt
        )
        return NATSGateway.ImportedEvent(node: try node("berlin"), headers: headers, payload: [0x01])
    }

    /// The context that a subscriber at paris sees.
    private func context(_ event: NATSGateway.ImportedEvent) throws -> EventContext {
        let publisher = EventPublisher()
        let seen = Changing<[EventContext]>([])
        let subscription = try publisher.subscribe(toEventsNamed: "Counted") { (_: UntypedEvent) in
            if let context = EventContext.current { seen.change { $0.append(context) } }
        }
        try publisher.publish(importing: event.forHost(at: try node("paris")))
        subscription.cancel()
        return try #require(seen.value.first)
    }

    @Test func identityHasTheNodeInFront() throws {
        let context = try context(event(time: EventTime.text(of: 1_700_000_000_123_456_789)))
        #expect(context.id == EventID(origin: "berlin/orders", incarnation: 0x1f, number: 12))
        #expect(context.nanosecondsSinceEpoch == 1_700_000_000_123_456_789)
        #expect(context.traceparent?.description == Self.traceparent)
        #expect(context.attempt == 1 && context.cause == nil)
    }

    @Test(
        arguments: [
            ("host-2-3", "berlin/host-2-3"), ("rome/host-2-3", "rome/host-2-3"), ("paris/host-2-3", "host-2-3"),
            ("parish/host-2-3", "parish/host-2-3"), ("nonsense", nil),
        ] as [(String, String?)]
    )
    func causeNamesTheProcessAsItIsCalledHere(_ written: String, _ seen: String?) throws {
        let context = try context(event(cause: written, root: written))
        #expect(context.cause?.description == seen)
        #expect(context.root.description == seen ?? "berlin/orders-1f-12")
    }

    @Test(arguments: ["", "orders", "orders-1f", "orders-01f-2", "rome/orders-1f-2", "paris/orders-1f-2"])
    func anIdentityOfNoProcessOfTheNodeIsRefused(_ id: String) throws {
        let event = try event(id: id)
        #expect(throws: NATSGateway.ImportedEvent.Unusable.self) { try event.forHost(at: try node("paris")) }
    }

    @Test func whatMayBeARepeatIsASecondAttempt() throws {
        var event = try event()
        event.mayBeRepeat = true
        #expect(try context(event).attempt == 2)
    }

    @Test(arguments: [2, 4_294_967_295]) func whatMayBeStoredTwiceIsASecondAttempt(_ attempt: Int) throws {
        #expect(try context(event(attempt: attempt)).attempt == 2)
    }

    @Test(arguments: [0, 1, 999_999_999, 1_700_000_000_123_456_789, 1 << 62] as [UInt64])
    func timeKeepsItsNanoseconds(_ time: UInt64) {
        #expect(EventTime.nanoseconds(of: EventTime.text(of: time)) == time)
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00.000000000Z", 0), ("2000-02-29T00:00:00.000000000Z", 951_782_400_000_000_000),
            ("2000-03-01T12:00:00.500000000Z", 951_912_000_500_000_000),
            ("2026-12-31T23:59:59.999999999Z", 1_798_761_599_999_999_999),
            ("2100-02-28T23:59:59.000000000Z", 4_107_542_399_000_000_000),
            ("2100-03-01T00:00:00.000000000Z", 4_107_542_400_000_000_000),
        ] as [(String, UInt64)]
    )
    func timeIsThatOfTheCalendar(_ text: String, _ time: UInt64) {
        #expect(EventTime.text(of: time) == text)
        #expect(EventTime.nanoseconds(of: text) == time)
    }

    @Test(arguments: [
        "2026-02-29T00:00:00.0Z", "2000-02-30T00:00:00.0Z", "2100-02-29T00:00:00.0Z", "2026-04-31T00:00:00.0Z",
        "2026-13-01T00:00:00.0Z", "2026-00-01T00:00:00.0Z", "2026-01-00T00:00:00.0Z", "2026-01-01T24:00:00.0Z",
    ])
    func dayOfNoCalendarIsNoTime(_ text: String) { #expect(EventTime.nanoseconds(of: text) == nil) }

    @Test(arguments: ["", "now", "2026-01-02T03:04:05Z", "1969-12-31T23:59:59.5Z", "2026-01-02T03:04:05.1234567890Z"])
    func otherTimesAreNone(_ text: String) { #expect(EventTime.nanoseconds(of: text) == nil) }
}
