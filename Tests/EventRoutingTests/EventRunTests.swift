import BridgeProtocol
import BridgeTransport
import DomainEvents
import Synchronization
import Testing

@testable import EventRouting

@Suite("Each event of a run goes to those that want it at its moment", .timeLimit(.minutes(1)))
struct EventRunTests {
    private static let name = "ParcelSaved"
    private let bench: RoutingBench
    private let sender: Peer

    init() throws {
        bench = try RoutingBench()
        sender = bench.peer("sender")
        bench.router.add(sender)
        sender.link.establish(as: EventSource(origin: "sender", incarnation: 7))
    }

    private func receive(_ sequence: UInt64, _ name: String = Self.name, by events: PeerEvents? = nil) throws {
        try bench.receive(sequence, .text(name), payload: [0xA0], from: sender, by: events)
    }

    @Test("as peers come and leave between two events of it")
    func peers() throws {
        let (first, second) = (bench.peer("first", wants: [Self.name]), bench.peer("second", wants: [Self.name]))
        bench.router.add(first)
        try receive(1)
        try receive(2)
        bench.router.add(second)
        try receive(3)
        bench.router.exchange(adding: [], leaving: [first])
        try receive(4)
        #expect([first, second].map(\.statistics.waiting) == [3, 2])
    }

    @Test("though the link's last run had other receivers")
    func lastRun() throws {
        let events = PeerEvents(of: sender, to: bench.router)
        let reader = bench.peer("reader", wants: [Self.name])
        try receive(1, by: events)
        try receive(2, by: events)
        bench.router.add(reader)
        try receive(3, by: events)
        bench.router.exchange(adding: [], leaving: [reader])
        try receive(4, by: events)
        #expect(reader.statistics.waiting == 1)
    }

    @Test("though events of another name come between them")
    func names() throws {
        let (first, second) = (bench.peer("first", wants: [Self.name]), bench.peer("second", wants: ["ParcelSent"]))
        bench.router.exchange(adding: [first, second])
        for (index, name) in [Self.name, "ParcelSent", "ParcelSent", Self.name, "ParcelLost"].enumerated() {
            try receive(UInt64(index + 1), name)
        }
        #expect([first, second].map(\.statistics.waiting) == [2, 2])
    }

    @Test("and receivers are the present ones until there is a change")
    func change() throws {
        let topic = try #require(bench.router.named(Self.name))
        bench.router.ensureTargets(of: topic)
        let fanout = topic.fanout
        #expect(topic.isCurrent(fanout))
        bench.router.add(bench.peer("reader", wants: [Self.name]))
        #expect(!topic.isCurrent(fanout))
        #expect(topic.isCurrent(topic.fanout))
    }

    /// The last address that a topic was seen with.
    private final class Seen: Sendable {
        let address = Atomic<UInt>(0)
    }

    /// A receiver that looks at its topic when it goes.
    private final class LastLook: EventReceiver {
        private let topic: Topic
        private let seen: Seen

        init(at topic: Topic, _ seen: Seen) {
            self.topic = topic
            self.seen = seen
        }

        deinit { seen.address.store(topic.address.load(ordering: .relaxed), ordering: .relaxed) }

        func receive(_ run: inout EventRun, mayGoOn: (BorrowedContext) -> Bool) -> LocalOutcome? { nil }

        func deliver(
            _ payload: UnsafeRawBufferPointer,
            context: EventContext,
            strand: (any InlineStrand)?,
            passOn: (_ held: inout HeldEvents?) -> Bool,
            completion: (_ handlers: Int) -> any HandlingCompletion
        ) -> LocalOutcome { .unwanted }
    }

    @Test("and no topic has the address of receivers that are gone: others may come to lie there")
    func addressOfTheGone() throws {
        let topic = try #require(bench.router.named(Self.name))
        let seen = Seen()
        _ = topic.put(Fanout(targets: [], attached: [], pooled: nil, receiver: LastLook(at: topic, seen), soleOwed: []))
        let former = topic.fanout.address
        #expect(seen.address.load(ordering: .relaxed) == 0)
        _ = topic.put(Fanout(targets: [], attached: [], pooled: nil, receiver: nil, soleOwed: []))
        #expect(seen.address.load(ordering: .relaxed) == topic.fanout.address)
        #expect(topic.fanout.address != former)
    }
}
