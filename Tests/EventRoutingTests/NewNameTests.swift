import BridgeProtocol
import BridgeTransport
import DomainEvents
import TestSupport
import Testing

@testable import EventRouting

private struct PalletLabelled: DomainEvent {}

/// Another thread has made the name's topic, and has not found out yet which peers want its events.
@Suite("The first events of a new name")
struct NewNameTests {
    private static let name = "ParcelSaved"
    private let bench: RoutingBench
    private let reader: Peer
    private let sender: Peer

    init() throws {
        bench = try RoutingBench()
        reader = bench.peer("reader", wants: [EventName.everything.text])
        sender = bench.peer("sender")
        bench.router.exchange(adding: [reader, sender])
        sender.link.establish(as: EventSource(origin: "sender", incarnation: 7))
    }

    private var payload: [UInt8] { [0xA0] }

    private func receive(_ sequence: UInt64, _ name: WireName) throws {
        try bench.receive(sequence, name, payload: payload, from: sender)
    }

    @Test("reach those who want everything, if they are published here")
    func published() throws {
        _ = bench.router.named(Self.name)
        let outcome = payload.withUnsafeBytes { bench.router.publish(name: Self.name, payload: $0) }
        #expect(try outcome.get() == 1)
        #expect(reader.statistics.waiting == 1)
    }

    @Test("reach those who want everything, if a peer publishes them, by name or by number")
    func received() throws {
        let number = try #require(bench.router.named(Self.name)).number
        try receive(1, .text(Self.name))
        #expect(reader.statistics.waiting == 1)
        let other = try #require(bench.router.named("ElseSaved")).number
        try receive(2, .number(other))
        try receive(3, .number(number))
        #expect(reader.statistics.waiting == 3)
    }

    @Test("in another spelling are of another name, though the two are equal as texts")
    func spellings() throws {
        // The letter, and the sign for kelvin.
        let (letter, sign) = ("K", "\u{212A}")
        #expect(letter == sign)
        let literal = bench.peer("literal", wants: ["K"])
        bench.router.exchange(adding: [literal])
        try receive(1, .text(sign))
        #expect(literal.statistics.waiting == 0)
        try receive(2, .text(letter))
        #expect(literal.statistics.waiting == 1 && reader.statistics.waiting == 2)
        #expect(bench.router.named(letter) !== bench.router.named(sign))
        #expect(sender.newNames == 1)
    }

    @Test("reach those who want everything, though a gap has brought the name")
    func behindGap() throws {
        let gap = GapFrame(
            sequence: 1,
            name: .text(Self.name),
            count: 1,
            reason: 1,
            ranges: [GapFrame.Range(first: .sender(number: 1), last: 1)]
        )
        try bench.router.gapReceived(gap, from: sender, over: sender.link)
        // The gap itself has reached them, too.
        #expect(reader.link.kept == 1)
        try receive(2, .text(Self.name))
        #expect(reader.statistics.waiting == 1)
    }

    @Test("are refused, and missed by those who want them, once no more names are in use than there may be")
    func fullTable() async throws {
        let client = bench.peer("client", wants: [EventName.everything.text], isAttached: true)
        bench.router.exchange(adding: [client])
        for number in 0..<EventRouter.maximumNames { _ = bench.router.named("Filler\(number)") }
        let dropped = Collected<EventsDropped>()
        let subscription = bench.publisher.subscribe(to: EventsDropped.self) { dropped.add($0) }
        bench.router.start()
        let publisher = bench.publisher
        publisher.publish(PalletLabelled())
        await dropped.wait(for: 1)
        #expect(dropped.all.map(\.event) == ["PalletLabelled"] && dropped.all.map(\.link) == ["reader"])
        // In the event's place lies a gap.
        #expect(reader.statistics.waiting == 0 && reader.link.kept == 1 && client.link.kept == 1)
        let sent = await #expect(throws: DeliveryError.self) { try await publisher.send(PalletLabelled()) }
        #expect(sent?.code == .outboxFull)
        #expect(sent?.description == "PalletLabelled was not taken: more than 65536 event names are in use")
        #expect(reader.link.kept == 1 && client.link.kept == 1)
        // If only attached peers miss the event, the caller gets no error.
        bench.router.withPeers { $0.removeAll { $0 === reader } }
        try await publisher.send(PalletLabelled())
        #expect(client.statistics.waiting == 0 && client.link.kept == 1)
        bench.router.stop()
        subscription.cancel()
    }
}
