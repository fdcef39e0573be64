import BridgeProtocol
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import BridgeTransport
@testable import EventRouting

/// Keeps what it is asked to record, and looks whether the event may leave its outbox meanwhile.
private final class Recorder: IdleRecorder, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    struct Entry: Equatable {
        let number: UInt64
        let owed: [String]
        let isAtOnce: Bool
        let isHeld: Bool
    }

    struct Full: Error {}

    private let lock = Lock()
    private var entries: [Entry] = []
    private var links: [Link] = []
    /// Whether events can be recorded without a wait.
    let takesAtOnce: Bool
    let isFull: Bool

    init(takesAtOnce: Bool, isFull: Bool) {
        self.takesAtOnce = takesAtOnce
        self.isFull = isFull
    }

    var all: [Entry] { lock.withLock { entries } }

    /// The links whose outboxes have to hold the events.
    func watch(_ links: [Link]) { lock.withLock { self.links = links } }

    private func note(_ context: BorrowedContext, _ owed: [OwedReceiver], isAtOnce: Bool) {
        let isHeld = lock.withLock { links }.allSatisfy(\.isHolding)
        let owed = owed.map { $0.isSpecified ? $0.name : "\($0.name), unspecified" }
        lock.withLock {
            entries.append(Entry(number: context.number, owed: owed, isAtOnce: isAtOnce, isHeld: isHeld))
        }
    }

    func recordAtOnce(_ payload: UnsafeRawBufferPointer, context: BorrowedContext, owed: [OwedReceiver]) -> Bool {
        if takesAtOnce { note(context, owed, isAtOnce: true) }
        return takesAtOnce
    }

    func record(
        _ payload: UnsafeRawBufferPointer,
        context: BorrowedContext,
        owed: [OwedReceiver],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws -> Bool {
        if isFull { throw Full() }
        note(context, owed, isAtOnce: false)
        return true
    }
}

/// However an event goes to its peers, it is recorded once, while it lies in all outboxes and leaves none.
@Suite("A recorded event on its way to peers", .timeLimit(.minutes(1)))
struct RecordedSendingTests {
    private struct Saved: DomainEvent {}

    private let bench: RoutingBench

    init() throws { bench = try RoutingBench(keepsLetters: true) }

    /// Has a recorder record the events, and adds the peers that want them.
    private func begin(
        takesAtOnce: Bool = true,
        isFull: Bool = false,
        _ names: [String],
        limits: LinkLimits = LinkLimits()
    ) -> (recorder: Recorder, recording: Subscription, peers: [Peer]) {
        let recorder = Recorder(takesAtOnce: takesAtOnce, isFull: isFull)
        bench.publisher.recording.offer(recorder)
        let recording = bench.publisher.record(
            Saved.self,
            by: recorder,
            at: SubscriptionSite(file: #fileID, line: #line)
        )
        let peers = names.map { bench.peer($0, wants: [Saved.eventName], limits: limits) }
        for peer in peers { bench.router.add(peer) }
        recorder.watch(peers.map(\.link))
        return (recorder, recording, peers)
    }

    @Test("To one peer it is recorded at once, whether the caller waits for room or not")
    func alone() async throws {
        let (recorder, recording, peers) = begin(["worker"])
        bench.publisher.publish(Saved())
        let id = try await bench.publisher.send(Saved())
        let first = Recorder.Entry(number: id.number - 1, owed: ["worker"], isAtOnce: true, isHeld: true)
        #expect(recorder.all.first == first)
        #expect(recorder.all.map(\.number) == [id.number - 1, id.number] && recorder.all.allSatisfy(\.isAtOnce))
        #expect(peers[0].statistics.waiting == 2 && !peers[0].link.isHolding)
        #expect(peers[0].link.lock.withLock { peers[0].link.sending.outbox.owedEvent(1) != nil })
        recording.cancel()
    }

    @Test("If it cannot be recorded at once, it is recorded in the usual way before it leaves")
    func later() {
        let (recorder, recording, peers) = begin(takesAtOnce: false, ["worker"])
        bench.publisher.publish(Saved())
        #expect(recorder.all.map(\.owed) == [["worker"]])
        #expect(recorder.all.allSatisfy { $0.isHeld && !$0.isAtOnce })
        #expect(peers[0].statistics.waiting == 1 && !peers[0].link.isHolding)
        recording.cancel()
    }

    @Test("If it cannot be recorded at all, the publisher learns of that, and the event leaves")
    func never() {
        let failures = Collected<String>()
        let (recorder, recording, peers) = begin(takesAtOnce: false, isFull: true, ["worker"])
        let subscription = bench.publisher.subscribe(to: HandlerFailed.self) {
            // The report's handlers may wait for an answer of the peer.
            failures.add(peers[0].link.isHolding ? "\($0.event) is held" : $0.event)
        }
        bench.publisher.publish(Saved())
        #expect(failures.all == [Saved.eventName])
        #expect(recorder.all.isEmpty)
        #expect(peers[0].statistics.waiting == 1 && !peers[0].link.isHolding)
        recording.cancel()
        subscription.cancel()
    }

    @Test("To two peers it is recorded once, while both outboxes hold it")
    func toTwo() {
        let (recorder, recording, peers) = begin(["one", "two"])
        bench.publisher.publish(Saved())
        #expect(recorder.all.map { $0.owed.sorted() } == [["one", "two"]])
        #expect(recorder.all.allSatisfy { $0.isHeld && !$0.isAtOnce })
        for peer in peers { #expect(peer.statistics.waiting == 1 && !peer.link.isHolding) }
        recording.cancel()
    }

    @Test("For a peer that was given up it is recorded as owed, and is a dead letter")
    func givenUp() {
        let (recorder, recording, peers) = begin(["worker"])
        recorder.watch([])
        peers[0].close(because: "it was given up", isGivenUp: true)
        bench.publisher.publish(Saved())
        #expect(recorder.all.map(\.owed) == [["worker"]])
        #expect(bench.router.deadLetters?.letters.count == 1)
        #expect(peers[0].statistics.waiting == 0)
        recording.cancel()
    }

    @Test("As long as a caller waits for room, nothing is recorded")
    func crowded() async throws {
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        let (recorder, recording, peers) = begin(["worker"], limits: limits)
        bench.publisher.publish(Saved())
        let publisher = bench.publisher
        let waiting = Task { try await publisher.send(Saved()) }
        let link = peers[0].link
        while !link.lock.withLock({ link.waiters.areSendersWaiting }) { await Task.yield() }
        #expect(recorder.all.count == 1)
        peers[0].close(because: "it was given up", isGivenUp: true)
        let error = await #expect(throws: DeliveryError.self) { try await waiting.value }
        #expect(error?.code == .workerUnavailable)
        #expect(recorder.all.count == 1)
        recording.cancel()
    }
}
