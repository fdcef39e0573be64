import BridgePlatform
import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import Testing

@Suite("C3: a link with overflow policies", .serialized, .timeLimit(.minutes(5)))
struct OverflowTests {
    private static let source = LinkPair.hostSource

    /// Four events in flight and twelve behind them.
    private static func limits(_ overflow: [String: OverflowPolicy]) -> LinkLimits {
        var limits = LinkLimits()
        limits.windowEvents = 4
        limits.outboxBytes = 16 * LinkLimits.minimumCharge
        limits.overflow = OverflowPolicies(overflow)
        return limits
    }

    /// A worker's behaviour: it handles none of its first four events before it is told to, and then everything.
    private static func beginsWithFour() -> @Sendable (Link, EventHead) -> EventDisposition {
        let begun = Shared(0)
        return { _, _ in
            begun.change { $0 += 1 }
            return begun.value <= 4 ? .pending : .handled
        }
    }

    private static func pair(_ carrier: Carrier, _ overflow: [String: OverflowPolicy]) throws -> LinkPair {
        try LinkPair(carrier, limits: limits(overflow), workerDispose: beginsWithFour())
    }

    /// Lets the worker handle the first four, and waits until the host has nothing left.
    private static func goOn(_ pair: LinkPair) {
        for event in pair.workerDelegate.events.value.prefix(4) { pair.worker.eventHandled(event.sequence) }
        waitUntilQuiet(pair.host)
    }

    private static func waitUntilQuiet(_ link: Link) {
        let isQuiet = Shared(false)
        link.whenQuiet { isQuiet.change { $0 = true } }
        isQuiet.wait { $0 }
    }

    private static func numbers(_ pair: LinkPair) -> [UInt64] { pair.workerDelegate.events.value.map(\.number) }

    private static func gaps(_ pair: LinkPair) -> [String] {
        pair.workerDelegate.gaps.value.map { gap, behind in
            let ranges = gap.ranges.map { range in
                guard case .sender(let first) = range.first else { return "\(range)" }
                return "\(first)...\(range.last)"
            }
            return "\(gap.count) in \(ranges) behind \(behind)"
        }
    }

    @Test("that drops the oldest keeps the newest, with a gap in the place of the others", arguments: Carrier.allCases)
    func dropOldest(carrier: Carrier) throws {
        let pair = try Self.pair(carrier, ["BoxSaved": .dropOldest])
        for number in 1...4 { pair.host.publish(number, from: Self.source) }
        pair.workerDelegate.events.wait { $0.count == 4 }
        for number in 5...100 { pair.host.publish(number, from: Self.source) }
        #expect(pair.host.outboxDepth.bytes <= 16 * LinkLimits.minimumCharge)
        Self.goOn(pair)
        #expect(Self.numbers(pair) == Array(1...4) + Array(89...100))
        #expect(Self.gaps(pair) == ["84 in [\"5...88\"] behind 4"])
        let tally = pair.host.tally
        #expect(tally.tally.handled == 16 && tally.tally.dropped == 84 && tally.waiting == 0 && tally.waitingBytes == 0)
        #expect(pair.worker.tally.tally.arrived == 16 && pair.worker.tally.tally.arrivedHandled == 16)
        pair.shutDown()
    }

    @Test("that drops the newest keeps the oldest, and goes on when there is room", arguments: Carrier.allCases)
    func dropNewest(carrier: Carrier) throws {
        let pair = try Self.pair(carrier, ["*": .dropNewest])
        for number in 1...4 { pair.host.publish(number, from: Self.source) }
        pair.workerDelegate.events.wait { $0.count == 4 }
        for number in 5...16 {
            #expect(pair.host.put(number, from: Self.source) != .dropped)
        }
        for number in 17...100 { #expect(pair.host.put(number, from: Self.source) == .dropped) }
        Self.goOn(pair)
        pair.host.publish(101, from: Self.source)
        pair.workerDelegate.events.wait { $0.last?.number == 101 }
        #expect(Self.numbers(pair) == Array(1...16) + [101])
        #expect(Self.gaps(pair) == ["84 in [\"17...100\"] behind 16"])
        pair.shutDown()
    }

    @Test(
        "sends of each key the latest that waits, each in its own place and without a gap",
        arguments: Carrier.allCases
    )
    func latest(carrier: Carrier) throws {
        let pair = try Self.pair(carrier, ["BoxSaved": .latest(by: "box")])
        func payload(box: Int) throws -> [UInt8] {
            try CBORValue.map([.init(key: .text("box"), value: .unsigned(UInt64(box)))]).encoded()
        }
        // Each with a key of its own: none takes the place of another that has not left yet.
        for number in 1...4 { pair.host.publish(number, from: Self.source, payload: try payload(box: 100 + number)) }
        pair.workerDelegate.events.wait { $0.count == 4 }
        // An event without a box, between others.
        pair.host.publish(5, from: Self.source)
        for number in 6...100 { pair.host.publish(number, from: Self.source, payload: try payload(box: number % 3)) }
        Self.goOn(pair)
        #expect(Self.numbers(pair) == Array(1...5) + [98, 99, 100])
        #expect(Self.gaps(pair).isEmpty)
        #expect(pair.host.tally.tally.coalesced == 92 && pair.host.tally.tally.dropped == 0)
        pair.shutDown()
    }

    @Test("that drops the oldest drops only the new one where all older ones are not enough")
    func dropOldestInVain() throws {
        let poller = try Poller(name: "test")
        defer { poller.stop() }
        let limits = Self.limits(["BoxSaved": .dropOldest])
        let link = Link(peerName: "canvas", role: .host, ownSource: Self.source, limits: limits, poller: poller)
        func put(_ number: Int, _ name: String) -> (outcome: Enqueued, gone: [UInt64]) {
            var evicted: [Evicted] = []
            let id = EventID(source: Self.source, number: UInt64(number))
            let context = EventContext(id: id, nanosecondsSinceEpoch: 1)
            let outcome = payload(number).withUnsafeBytes {
                link.enqueue(context, name: name, payload: $0, evicted: &evicted)
            }
            return (outcome, evicted.map(\.context.id.number))
        }
        for number in 1...4 { #expect(put(number, "BoxSaved").gone.isEmpty) }
        // The events of other processes wait for room, and meanwhile go beyond the limit.
        for number in 5...20 { #expect(put(number, "Else").gone.isEmpty) }
        let (outcome, gone) = put(21, "BoxSaved")
        #expect(outcome == .dropped && gone == [21])
        #expect(link.outboxDepth.bytes == 20 * LinkLimits.minimumCharge)
    }

    @Test(
        "refuses what has to fail beyond the limit, and takes what waits up to the hard one",
        arguments: Carrier.allCases
    )
    func failing(carrier: Carrier) throws {
        let pair = try Self.pair(carrier, ["Failing": .fail, "Dropped": .dropOldest])
        for number in 1...4 { pair.host.publish(number, from: Self.source) }
        pair.workerDelegate.events.wait { $0.count == 4 }
        for number in 5...20 { pair.host.publish(number, from: Self.source, name: "Waiting") }
        #expect(pair.host.put(21, from: Self.source, name: "Failing") == .full(limit: 16 * LinkLimits.minimumCharge))
        // No event of the same name could make room.
        #expect(pair.host.put(22, from: Self.source, name: "Dropped") == .dropped)
        #expect(!pair.host.hasRoom(for: "Waiting"))
        #expect(pair.host.hasRoom(for: "Failing"))
        pair.host.publish(23, from: Self.source, name: "Waiting")
        Self.goOn(pair)
        #expect(Self.numbers(pair) == Array(1...20) + [23])
        #expect(Self.gaps(pair) == ["1 in [\"22...22\"] behind 20"])
        pair.shutDown()
    }

    @Test("has room for the newest while all but the oldest event is handled", arguments: Carrier.allCases)
    func handledTakesNoRoom(carrier: Carrier) throws {
        let pair = try LinkPair(
            carrier,
            limits: Self.limits(["BoxSaved": .dropOldest]),
            workerDispose: { _, head in head.sequence == 1 ? .pending : .handled }
        )
        // After the sixteenth the sender must wait while the first is not handled.
        for number in 1...16 {
            pair.host.publish(number, from: Self.source)
            pair.workerDelegate.events.wait { $0.count == number }
        }
        while pair.host.tally.tally.handled < 15 { pair.worker.acknowledgeNow() }
        pair.host.publish(17, from: Self.source)
        #expect(pair.host.tally.tally.dropped == 0)
        pair.worker.eventHandled(1)
        pair.workerDelegate.events.wait { $0.count == 17 }
        pair.shutDown()
    }

    @Test(
        "lets no gap out for each event that it drops while the window has room for gaps alone",
        arguments: Carrier.allCases
    )
    func gapsGrow(carrier: Carrier) throws {
        var limits = Self.limits(["BoxSaved": .dropOldest])
        limits.windowEvents = 1_000
        limits.windowBytes = 10_000
        limits.outboxBytes = 20_000
        let begun = Shared(0)
        let pair = try LinkPair(
            carrier,
            limits: limits,
            workerDispose: { _, _ in
                begun.change { $0 += 1 }
                return begun.value <= 3 ? .pending : .handled
            }
        )
        let payload = [UInt8](repeating: 0, count: 2_600)
        for number in 1...3 { pair.host.publish(number, from: Self.source, payload: payload) }
        pair.workerDelegate.events.wait { $0.count == 3 }
        for number in 4...100 {
            pair.host.publish(number, from: Self.source, payload: payload)
            // Events that leave are acknowledged before the next event is dropped.
            pair.worker.acknowledgeNow()
            if number == 10 { pair.workerDelegate.gaps.wait { $0.count == 1 } }
        }
        #expect(pair.host.outboxDepth.bytes <= limits.outboxBytes + LinkLimits.minimumCharge)
        for event in pair.workerDelegate.events.value.prefix(3) { pair.worker.eventHandled(event.sequence) }
        Self.waitUntilQuiet(pair.host)
        #expect(Self.numbers(pair) == [1, 2, 3, 97, 98, 99, 100])
        #expect(pair.workerDelegate.gaps.value.count == 2)
        #expect(pair.workerDelegate.gaps.value.reduce(0) { $0 + $1.gap.count.asWritten } == 93)
        pair.shutDown()
    }

    @Test("lets no gap out for each event that its hard limit keeps out")
    func hardLimitGapsGrow() throws {
        var limits = Self.limits([:])
        limits.windowEvents = 1_000
        limits.outboxHardBytes = limits.outboxBytes
        let isOpen = Shared(false)
        let pair = try LinkPair(
            .socket,
            limits: limits,
            workerDispose: { _, _ in isOpen.value ? .handled : .pending }
        )
        for number in 1...16 { pair.host.publish(number, from: Self.source) }
        pair.workerDelegate.events.wait { $0.count == 16 }
        for number: UInt64 in 17...100 {
            pair.host.note(Gap(EventID(source: Self.source, number: number), name: "BoxSaved", reason: .full))
            pair.worker.acknowledgeNow()
        }
        #expect(pair.host.outboxDepth.bytes <= limits.outboxHardBytes + LinkLimits.minimumCharge)
        isOpen.change { $0 = true }
        for event in pair.workerDelegate.events.value { pair.worker.eventHandled(event.sequence) }
        Self.waitUntilQuiet(pair.host)
        // There is one if the writer was held up until all events had come.
        #expect(pair.workerDelegate.gaps.value.count <= 2)
        #expect(pair.workerDelegate.gaps.value.reduce(0) { $0 + $1.gap.count.asWritten } == 84)
        pair.shutDown()
    }

    @Test(
        "acknowledges in the end also what led to events that were dropped, also if some leave while a handler publishes",
        arguments: Carrier.allCases,
        [false, true]
    )
    func acknowledgement(carrier: Carrier, isSlow: Bool) throws {
        let hasArrived = Shared(false)
        // The events that the worker has not handled yet; nil once it goes on.
        let held = Shared<[UInt64]?>([])
        let pair = try LinkPair(
            carrier,
            limits: Self.limits(["BoxSaved": .dropOldest]),
            // Each event of the worker causes some for which there is no room.
            hostDispose: { link, head in
                for number in 0..<50 {
                    link.put(Int(head.sequence.asWritten) * 100 + number, from: Self.source)
                    // Then another thread reads on, and writes the events that wait.
                    if isSlow { hasArrived.wait { $0 } }
                }
                return .handled
            },
            workerDispose: { _, head in
                hasArrived.change { $0 = true }
                var isHeld = false
                held.change { sequences in
                    isHeld = sequences != nil
                    sequences?.append(head.sequence.asWritten)
                }
                return isHeld ? .pending : .handled
            }
        )
        for number in 1...3 { pair.worker.publish(number, from: LinkPair.workerSource, name: "Cause") }
        pair.hostDelegate.events.wait { $0.count == 3 }
        hasArrived.wait { $0 }
        #expect(pair.worker.tally.waiting > 0)
        var sequences: [UInt64]?
        held.change { swap(&$0, &sequences) }
        for sequence in sequences ?? [] { pair.worker.eventHandled(sequence) }
        Self.waitUntilQuiet(pair.host)
        Self.waitUntilQuiet(pair.worker)
        #expect(pair.worker.tally.waiting == 0)
        #expect(Self.numbers(pair).last == 349)
        pair.shutDown()
    }

    @Test("hands what waits and what is missing on to the next incarnation, in order")
    func succession() throws {
        let first = try Self.pair(.socket, ["BoxSaved": .dropOldest])
        for number in 1...4 { first.host.publish(number, from: Self.source) }
        first.workerDelegate.events.wait { $0.count == 4 }
        for number in 5...30 { first.host.publish(number, from: Self.source) }
        first.worker.close()
        first.hostDelegate.end.wait { $0 != nil }
        let second = try LinkPair(
            .socket,
            limits: Self.limits(["BoxSaved": .dropOldest]),
            takesUpFrom: first.host,
            workerDispose: { _, _ in .handled }
        )
        second.workerDelegate.events.wait { $0.count == 16 }
        #expect(Self.numbers(second) == Array(1...4) + Array(19...30))
        #expect(second.workerDelegate.events.value.map(\.attempt) == [2, 2, 2, 2] + Array(repeating: 1, count: 12))
        #expect(Self.gaps(second) == ["14 in [\"5...18\"] behind 4"])
        first.shutDown()
        second.shutDown()
    }

    @Test("is told of events that its hard limit has kept out, and so is the next incarnation if that was under way")
    func hardLimit() throws {
        var limits = Self.limits([:])
        limits.outboxHardBytes = limits.outboxBytes
        let first = try LinkPair(.socket, limits: limits, workerDispose: { _, _ in .pending })
        for number in 1...16 { first.host.publish(number, from: Self.source) }
        first.workerDelegate.events.wait { $0.count == 4 }
        #expect(first.host.put(17, from: Self.source) == .full(limit: limits.outboxHardBytes))
        first.host.note(Gap(EventID(source: Self.source, number: 17), name: "BoxSaved", reason: .full))
        first.host.note(Gap(EventID(source: Self.source, number: 18), name: "BoxSaved", reason: .full))
        first.worker.close()
        first.hostDelegate.end.wait { $0 != nil }
        #expect(first.host.tally.waiting == 16)
        let second = try LinkPair(.socket, limits: limits, takesUpFrom: first.host, workerDispose: { _, _ in .handled })
        second.workerDelegate.events.wait { $0.count == 16 }
        Self.waitUntilQuiet(second.host)
        second.host.publish(19, from: Self.source)
        second.workerDelegate.events.wait { $0.last?.number == 19 }
        #expect(Self.numbers(second) == Array(1...16) + [19])
        #expect(second.workerDelegate.gaps.value.allSatisfy { $0.behind == 16 })
        #expect(second.workerDelegate.gaps.value.reduce(0) { $0 + $1.gap.count.asWritten } == 2)
        first.shutDown()
        second.shutDown()
    }
}
