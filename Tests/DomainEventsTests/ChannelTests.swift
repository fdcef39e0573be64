import Dispatch
import DomainEvents
import Synchronization
import TestSupport
import Testing

private enum First { struct Renamed: DomainEvent {} }
private enum Second { struct Renamed: DomainEvent {} }

/// As many event types as one likes: each pair of arguments makes another.
private struct Generated<A, B>: DomainEvent {
    static var eventName: String { "Generated \(ObjectIdentifier(self))" }
    let number: Int
}

private enum Zero {}
private enum One {}

/// The uses of one generated type.
private struct GeneratedType: Sendable {
    let subscribe: @Sendable (EventPublisher, Collected<Int>) -> Subscription
    let publish: @Sendable (EventPublisher, Int) -> Void

    init<E: DomainEvent>(_ type: E.Type, make: @escaping @Sendable (Int) -> E, number: @escaping @Sendable (E) -> Int) {
        subscribe = { publisher, log in publisher.subscribe(to: type) { log.add(number($0)) } }
        publish = { publisher, number in publisher.publish(make(number)) }
    }

    static func all<T>(below type: T.Type, depth: Int) -> [GeneratedType] {
        if depth == 0 {
            return [
                GeneratedType(Generated<T, Zero>.self, make: { Generated(number: $0) }, number: \.number),
                GeneratedType(Generated<T, One>.self, make: { Generated(number: $0) }, number: \.number),
            ]
        }
        return all(below: Generated<T, Zero>.self, depth: depth - 1)
            + all(below: Generated<T, One>.self, depth: depth - 1)
    }
}

@Suite("Each event type has a channel of its own", .timeLimit(.minutes(5)))
struct ChannelTests {
    @Test func twoThousandTypesAreFoundWhileTheTableGrowsUnderItsReaders() async {
        let types = GeneratedType.all(below: Int.self, depth: 10)
        #expect(types.count == 2_048)
        let publisher = EventPublisher()
        let logs = types.map { _ in Collected<Int>() }
        let ready = Counter()
        let held = Collected<Subscription>()
        await onThreads(3) { index in
            if index == 0 {
                for (type, log) in zip(types, logs) {
                    held.add(type.subscribe(publisher, log))
                    ready.add()
                }
            } else {
                // Readers publish types that are there already, again and again, and touch types that are not used yet.
                for position in types.indices {
                    ready.waitSpinning(for: position + 1)
                    types[position].publish(publisher, index)
                    types[position / 2].publish(publisher, -index)
                    types[types.count - 1 - position].publish(publisher, 0)
                }
            }
        }
        for (position, log) in logs.enumerated() {
            let entries = log.all
            #expect(entries.filter { $0 == 1 }.count == 1)
            #expect(entries.filter { $0 == 2 }.count == 1)
            let halves = (position < types.count / 2) ? 2 : 0
            #expect(entries.filter { $0 == -1 }.count == halves)
        }
        let channels = Set(types.indices.map { logs[$0].count > 0 })
        #expect(channels == [true])
        for subscription in held.all { subscription.cancel() }
    }

    @Test func threadsThatUseANewTypeAtOnceShareItsChannel() async {
        for _ in 0..<200 {
            let publisher = EventPublisher()
            let start = Counter()
            let log = Collected<Int>()
            let kept = Collected<Subscription>()
            await onThreads(4) { index in
                start.add()
                start.waitSpinning(for: 4)
                kept.add(publisher.subscribe(to: Ping.self) { log.add($0.number) })
            }
            publisher.publish(Ping(1))
            #expect(log.all == [1, 1, 1, 1])
            for subscription in kept.all { subscription.cancel() }
        }
    }

    @Test func twoTypesWithOneNameAreRefusedNamingBoth() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let publisher = EventPublisher()
            publisher.publish(First.Renamed())
            EventPublisher().publish(First.Renamed())
            publisher.publish(Second.Renamed())
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("First"), "\(text)")
        #expect(text.contains("Second"), "\(text)")
    }

    @Test func namesAreThoseOfTheTypesUnlessTheySayOtherwise() {
        enum CanvasEvent: DomainEvent { case saved }
        struct Moved: DomainEvent { static var eventName: String { "warehouse.moved" } }
        #expect(Ping.eventName == "Ping")
        #expect(CanvasEvent.eventName == "CanvasEvent")
        #expect(EventPublisher().channel(of: Moved.self).name == "warehouse.moved")
        struct Local: DomainEvent {}
        #expect(Nested.Boxed<Int>.eventName == "Boxed<Int>")
        for type in [Ping.self, Nested.Inner.self, Nested.Boxed<[String]>.self, Local.self] as [any DomainEvent.Type] {
            #expect(type.eventName == String(describing: type))
        }
        // An optimizer that sees the type would name it with what keeps two files' private types apart.
        #expect(Hidden.eventName == "Hidden")
    }
}

private final class Interest: InterestObserver {
    let isBridge = false
    let log = Collected<String>()
    func interestMayHaveChanged(in name: String) { log.add("changed \(name)") }
    func channelWasMade(_ channel: AnyEventChannel) { log.add("made \(channel.name)") }
}

@Suite("A bridge learns who wants what", .timeLimit(.minutes(5)))
struct InterestTests {
    private let publisher = EventPublisher()

    @Test func ofEverySubscriptionAndItsEnd() {
        let interest = Interest()
        publisher.addInterestObserver(interest)
        let subscription = publisher.subscribe(to: Ping.self) { _ in }
        #expect(publisher.isWanted("Ping"))
        subscription.cancel()
        #expect(!publisher.isWanted("Ping"))
        #expect(interest.log.all == ["made Ping", "changed Ping", "changed Ping"])
        publisher.removeInterestObserver(interest)
        publisher.subscribe(to: Ping.self) { _ in }.cancel()
        #expect(interest.log.count == 3)
    }

    @Test func ofChannelsThatWereThereBefore() {
        publisher.publish(Ping())
        let interest = Interest()
        publisher.addInterestObserver(interest)
        #expect(interest.log.all == ["made Ping"])
        publisher.publish(Pong())
        publisher.publish(Pong())
        #expect(interest.log.all == ["made Ping", "made Pong"])
        #expect(!publisher.isWanted("Ping"))
        #expect(!publisher.isWanted("never used"))
        publisher.removeInterestObserver(interest)
    }
}

/// Writes down what it is asked to carry.
private final class Carrier: EventForwarder {
    let log: Collected<String>
    let name: String
    let failure = Holder<DeliveryError>()
    let room = Flag()
    let waits = Counter()
    /// How many callers find that others have filled the room, though their turn has come.
    let lostTurns = Counter()

    init(_ name: String = "carrier", log: Collected<String> = Collected()) {
        self.name = name
        self.log = log
    }

    func forward<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout HeldEvents?
    ) -> Forwarded {
        if ifFull == .wait, !room.isSet { return .awaitsRoom }
        if ifFull == .turn, lostTurns.count > 0 {
            lostTurns.add(-1)
            return .awaitsRoom
        }
        let (name, log, text) = (name, log, "\(name) \(event) \(ifFull == .drop)")
        if held?.keepsRoomFirst == true, failure.current == nil {
            let room = KeptRoom { held in
                log.add(text)
                held?.append(Kept(name: name, log: log))
                return .taken
            } giveBack: {
                log.add("\(name) has its room back")
            }
            held?.keep(room)
            return .taken
        }
        log.add(text)
        held?.append(Kept(name: name, log: log))
        return failure.current.map { .failed($0) } ?? .taken
    }

    var hasRoom: Bool { room.isSet }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {
        waits.add()
        try Task.checkCancellation()
    }

    var isWantedElsewhere: Bool { true }
}

/// What a carrier holds.
private struct Kept: HeldEvent {
    let name: String
    let log: Collected<String>
    var owed: [OwedReceiver] { [] }

    mutating func release() { log.add("\(name) lets it leave") }

    func flush() { log.add("\(name) writes") }
}

/// Has no room for any event.
private final class FullRecorder: IdleRecorder {
    func record(
        _ payload: UnsafeRawBufferPointer,
        context: BorrowedContext,
        owed: [OwedReceiver],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws -> Bool { throw Refused(number: 1) }
}

@Suite("What a link wants goes into its outbox first", .timeLimit(.minutes(5)))
struct ForwarderTests {
    private let publisher = EventPublisher()

    @Test func beforeAnyHandlerRunsAndAtOnceForWhatAHandlerPublishes() {
        let log = Collected<String>()
        let carrier = Carrier(log: log)
        publisher.setForwarding(of: "Ping", by: carrier, to: carrier)
        publisher.setForwarding(of: "Pong", by: carrier, to: carrier)
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] _ in
                log.add("ping begins")
                publisher.publish(Pong(2))
                log.add("ping returns")
            },
            publisher.subscribe(to: Pong.self) { _ in log.add("pong") },
        ]
        publisher.publish(Ping(1))
        #expect(
            log.all == [
                "carrier Ping(number: 1) true", "ping begins", "carrier Pong(number: 2) true", "ping returns", "pong",
            ]
        )
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func andStaysThereUntilAllHaveItAndTheQueuesHereToo() {
        let works = Collected<@Sendable () -> Void>()
        let log = Collected<String>()
        let (carrier, other) = (Carrier("first", log: log), Carrier("second", log: log))
        publisher.setForwarding(of: "Ping", by: carrier, to: carrier)
        publisher.setForwarding(of: "Ping", by: other, to: other)
        let inline = publisher.subscribe(to: Ping.self) { _ in log.add("ping") }
        publisher.publish(Ping(1))
        let held = ["first lets it leave", "second lets it leave", "first writes", "second writes", "ping"]
        #expect(log.all == ["first Ping(number: 1) true", "second Ping(number: 1) true"] + held)
        // With one way out and handlers on this thread, publishing waits for nothing.
        publisher.setForwarding(of: "Ping", by: other, to: nil)
        publisher.publish(Ping(2))
        #expect(log.all.suffix(2) == ["first Ping(number: 2) true", "ping"])
        // The queue is woken between the two: its work is there before the event is written.
        let executor = StrandExecutor(works) { work in
            log.add("queue wakes")
            works.add(work)
        }
        let subscription = publisher.subscribe(to: Ping.self, on: QueueDelivery(executor: executor)) {
            log.add("queue \($0.number)")
        }
        publisher.publish(Ping(3))
        #expect(
            log.all.suffix(5) == [
                "first Ping(number: 3) true", "first lets it leave", "queue wakes", "first writes", "ping",
            ]
        )
        for work in works.all { work() }
        #expect(log.all.last == "queue 3")
        for subscription in [inline, subscription] { subscription.cancel() }
    }

    /// The handlers of the report may take any time, or wait for an answer to the event.
    @Test func andIsWrittenBeforeTheReportThatItIsNotRecorded() {
        let works = Collected<@Sendable () -> Void>()
        let log = Collected<String>()
        let carrier = Carrier("first", log: log)
        publisher.setForwarding(of: "Ping", by: carrier, to: carrier)
        publisher.setForwarding(of: "Pong", by: carrier, to: carrier)
        let site = SubscriptionSite(file: #fileID, line: #line)
        let recording = publisher.record(Ping.self, by: FullRecorder(), at: site)
        let reports = publisher.subscribe(to: HandlerFailed.self) { [publisher] report in
            log.add("report of \(report.event)")
            publisher.publish(Pong(1))
        }
        let written = ["first Ping(number: 1) true", "first lets it leave", "first writes"]
        let reported = ["report of Ping", "first Pong(number: 1) true"]
        publisher.publish(Ping(1))
        #expect(log.all == written + reported)
        // A queue does not wait for the report either, though the journal was there first.
        let executor = StrandExecutor(works) { work in
            log.add("queue wakes")
            works.add(work)
        }
        let queue = publisher.subscribe(to: Ping.self, on: QueueDelivery(executor: executor)) { _ in }
        publisher.publish(Ping(1))
        #expect(log.all == written + reported + written + ["queue wakes"] + reported)
        for work in works.all { work() }
        for subscription in [recording, reports, queue] { subscription.cancel() }
    }

    @Test func andIsInNoQueueHereIfItWasNotTaken() async {
        let log = Collected<String>()
        let carrier = Carrier(log: log)
        carrier.room.set()
        carrier.failure.swap(DeliveryError(.outboxFull, of: "Ping", "full"))
        publisher.setForwarding(of: "Ping", by: carrier, to: carrier)
        let queue = DispatchQueue(label: "queue")
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(queue)) { log.add("queue \($0.number)") }
        await #expect(throws: DeliveryError.self) { try await publisher.send(Ping(1)) }
        await #expect(throws: DeliveryError.self) { try await publisher.deliver(Ping(2), within: .seconds(240)) }
        publisher.publish(Ping(3))
        let all = await log.wait { $0.contains("queue 3") }
        #expect(all.filter { $0.hasPrefix("queue") } == ["queue 3"])
        // An event that an outbox has taken nevertheless does not stay held there.
        #expect(all.filter { $0 == "carrier lets it leave" }.count == 3)
        subscription.cancel()
    }

    @Test func fromWhenItIsWantedUntilItIsNot() {
        let carrier = Carrier("first")
        let other = Carrier("second", log: carrier.log)
        publisher.setForwarding(of: "Ping", by: carrier, to: carrier)
        publisher.setForwarding(of: "Ping", by: carrier, to: carrier)
        publisher.publish(Ping(1))
        publisher.setForwarding(of: "Ping", by: other, to: other)
        publisher.publish(Ping(2))
        publisher.setForwarding(of: "Ping", by: carrier, to: nil)
        publisher.publish(Ping(3))
        publisher.setForwarding(of: "Ping", by: other, to: nil)
        publisher.publish(Ping(4))
        #expect(
            carrier.log.all.filter { $0.contains("Ping") } == [
                "first Ping(number: 1) true", "first Ping(number: 2) true", "second Ping(number: 2) true",
                "second Ping(number: 3) true",
            ]
        )
    }

    @Test func sendWaitsForRoomAndThrowsWhatTheOutboxSays() async throws {
        let carrier = Carrier()
        let handled = Collected<Int>()
        publisher.setForwarding(of: "Ping", by: carrier, to: carrier)
        let subscription = publisher.subscribe(to: Ping.self) { handled.add($0.number) }
        try await publisher.send(Ping(1))
        #expect(carrier.waits.count == 1)
        carrier.room.set()
        try await publisher.send(Ping(2))
        #expect(carrier.waits.count == 1)
        carrier.failure.swap(DeliveryError(.outboxFull, of: "Ping", "full"))
        let error = await #expect(throws: DeliveryError.self) { try await publisher.send(Ping(3)) }
        #expect(error?.code == .outboxFull)
        #expect(handled.all == [1, 2])
        #expect(carrier.log.all.last == "carrier Ping(number: 3) false")
        subscription.cancel()
    }

    @Test func sendDeliverAndRequestWaitAgainIfOthersHaveFilledTheRoomInTheirTurn() async throws {
        let carrier = Carrier()
        publisher.setForwarding(of: "Ping", by: carrier, to: carrier)
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] in publisher.publish(Pong($0.number)) }
        carrier.lostTurns.add(2)
        try await publisher.send(Ping(1))
        #expect(carrier.waits.count == 3)
        carrier.lostTurns.add(2)
        #expect(try await publisher.deliver(Ping(2), within: .seconds(240)).handlers.values.reduce(0, +) == 1)
        #expect(carrier.waits.count == 6)
        carrier.lostTurns.add(2)
        #expect(try await publisher.request(Ping(3), awaiting: Pong.self, within: .seconds(240)).number == 3)
        #expect(carrier.waits.count == 9)
        #expect(carrier.log.all == (1...3).map { "carrier Ping(number: \($0)) false" })
        subscription.cancel()
    }

    @Test func theTimeOfADeliverEndsItsFurtherWaits() async throws {
        let (carrier, clock) = (Carrier(), HandClock())
        publisher.setForwarding(of: "Ping", by: carrier, to: carrier)
        carrier.lostTurns.add(.max / 2)
        let delivery = Task { [publisher] in
            try await publisher.deliver(Ping(1), within: .seconds(1), clock: clock)
        }
        await clock.asleep.wait(for: 1)
        while carrier.waits.count < 3 { await Task.yield() }
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: DeliveryError.self) { try await delivery.value }
        #expect(error?.code == .timedOut)
        // Nothing takes the event any more, though there is room.
        carrier.lostTurns.add(-carrier.lostTurns.count)
        try await publisher.send(Ping(2))
        #expect(carrier.log.all == ["carrier Ping(number: 2) false"])
    }

    @Test func withTwoForwardersNoneTakesAnEventBeforeBothHaveRoom() async throws {
        let log = Collected<String>()
        let (carrier, other) = (Carrier("first", log: log), Carrier("second", log: log))
        for carrier in [carrier, other] { publisher.setForwarding(of: "Ping", by: carrier, to: carrier) }
        other.lostTurns.add()
        try await publisher.send(Ping(1))
        let left = ["first lets it leave", "second lets it leave", "first writes", "second writes"]
        let taken = ["first Ping(number: 1) false", "second Ping(number: 1) false"]
        #expect(log.all == ["first has its room back"] + taken + left)
        #expect(carrier.waits.count == 2 && other.waits.count == 2)
    }

    @Test func sendDoesNotWaitInsideAHandlerAndNotPublishWhenCancelled() async throws {
        let carrier = Carrier()
        publisher.setForwarding(of: "Pong", by: carrier, to: carrier)
        let sent = Collected<Bool>()
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] _ in
            try await publisher.send(Pong(1))
            sent.add(true)
        }
        publisher.publish(Ping())
        await sent.wait(for: 1)
        #expect(carrier.waits.count == 0)
        let cancelled = Task { [publisher] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await publisher.send(Pong(2))
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(carrier.log.all == ["carrier Pong(number: 1) false"])
        subscription.cancel()
    }
}

private enum Nested {
    struct Inner: DomainEvent {}
    struct Boxed<Content: Codable & Sendable>: DomainEvent { let content: Content }
}

private struct Hidden: DomainEvent {}
