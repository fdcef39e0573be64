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

    private func receive(_ sequence: UInt64, _ name: String = Self.name, in run: inout EventRun) throws {
        let head = EventHead(
            sequence: sequence,
            id: .sender(number: sequence),
            nanosecondsSinceEpoch: 1,
            name: .text(name)
        )
        _ = try [UInt8]([0xA0]).withUnsafeBytes {
            try PeerEvents(of: sender, to: bench.router).link(sender.link, received: head, payload: $0, in: &run)
        }
    }

    @Test("as peers come and leave between two events of it")
    func peers() throws {
        var run = EventRun()
        let (first, second) = (bench.peer("first", wants: [Self.name]), bench.peer("second", wants: [Self.name]))
        bench.router.add(first)
        try receive(1, in: &run)
        try receive(2, in: &run)
        bench.router.add(second)
        try receive(3, in: &run)
        bench.router.exchange(adding: [], leaving: [first])
        try receive(4, in: &run)
        #expect([first, second].map(\.statistics.waiting) == [3, 2])
    }

    @Test("though events of another name come between them")
    func names() throws {
        var run = EventRun()
        let (first, second) = (bench.peer("first", wants: [Self.name]), bench.peer("second", wants: ["ParcelSent"]))
        bench.router.exchange(adding: [first, second])
        for (index, name) in [Self.name, "ParcelSent", "ParcelSent", Self.name, "ParcelLost"].enumerated() {
            try receive(UInt64(index + 1), name, in: &run)
        }
        #expect([first, second].map(\.statistics.waiting) == [2, 2])
    }

    @Test("and the receivers are looked up again only after a change")
    func lookUps() throws {
        var run = EventRun()
        let topic = try #require(bench.router.named(Self.name))
        bench.router.ensureTargets(of: topic)
        let address = topic.fanout(in: &run).toOpaque()
        #expect(topic.fanout(in: &run).toOpaque() == address)
        #expect(run.receiversAddress == UInt(bitPattern: address))
        bench.router.add(bench.peer("reader", wants: [Self.name]))
        #expect(topic.fanout(in: &run).toOpaque() != address)
        #expect(run.receiversAddress == topic.fanout.address)
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

        func receive(
            _ payload: UnsafeRawBufferPointer,
            context: EventContext,
            keeping kept: inout KeptSubscribers,
            strand: (any InlineStrand)?,
            passOn: (_ held: inout [any HeldEvent]?) -> Bool,
            completion: (_ handlers: Int) -> any HandlingCompletion
        ) -> LocalOutcome { .unwanted }
    }

    @Test("and no topic has the address of receivers that are gone: others may come to lie there")
    func addressOfTheGone() throws {
        let topic = try #require(bench.router.named(Self.name))
        let seen = Seen()
        _ = topic.put(Fanout(targets: [], attached: [], pooled: nil, receiver: LastLook(at: topic, seen)))
        let former = topic.fanout.address
        #expect(seen.address.load(ordering: .relaxed) == 0)
        _ = topic.put(Fanout(targets: [], attached: [], pooled: nil, receiver: nil))
        #expect(seen.address.load(ordering: .relaxed) == topic.fanout.address)
        #expect(topic.fanout.address != former)
    }
}
