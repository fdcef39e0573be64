import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import TestSupport
import Testing

@Suite("When a journal hears that a peer has settled an event", .serialized, .timeLimit(.minutes(5)))
struct SettledEventTests {
    private static let incarnation = LinkPair.workerSource.incarnation

    // MARK: - Behind what the event has caused

    @Test("not before the event that it has caused was recorded, whichever thread writes meanwhile")
    func writersDoNotTell() throws {
        let host = try JournaledHost { host, _ in
            // Any thread may write now: a publisher's, the poller's, the reading thread itself.
            host.link.pump()
            let writer = try? PlatformThread.startJoinable(name: "writer") { host.link.pump() }
            writer?.join()
        }
        host.owe(1)
        host.peer.send(.acknowledge(Acknowledgement(mark: 1, after: 1), incarnation: Self.incarnation))
        host.peer.send(event: 1)
        host.log.wait { $0.count == 2 }
        #expect(host.log.value == ["recorded 1", "settled 1"])
        host.shutDown()
    }

    @Test("not from a thread that was in a slow handler, while another thread reads on")
    func slowThreadDoesNotTell() throws {
        let isRead = Shared(false)
        let host = try JournaledHost { host, sequence in
            guard sequence == 2 else { return }
            // The slow thread goes on as far as it can.
            isRead.change { $0 = true }
            waitUntil { host.link.strand.isFree }
        } handle: { sequence in
            if sequence == 1 { isRead.wait { $0 } }
        }
        host.owe(1)
        host.peer.send(event: 1)
        host.peer.send(.acknowledge(Acknowledgement(mark: 1, after: 2), incarnation: Self.incarnation))
        host.peer.send(event: 2)
        host.log.wait { $0.count == 3 }
        #expect(host.log.value == ["recorded 1", "recorded 2", "settled 1"])
        host.shutDown()
    }

    @Test("while an event that nothing follows is in a slow handler")
    func lastEventIsSlow() throws {
        let isTold = Shared(false)
        let host = try JournaledHost(handle: { _ in isTold.wait { $0 } })
        host.owe(1)
        host.peer.send(.acknowledge(Acknowledgement(mark: 1, after: 1), incarnation: Self.incarnation))
        host.peer.send(event: 1)
        host.log.wait { $0.count == 2 }
        #expect(host.log.value == ["recorded 1", "settled 1"])
        isTold.change { $0 = true }
        host.shutDown()
    }

    @Test("where it was written, if the peer acknowledges nothing")
    func unconfirmed() throws {
        let host = try JournaledHost(features: .acknowledgesNothing)
        host.owe(2)
        host.log.wait { $0.count == 2 }
        #expect(host.log.value == ["settled 1", "settled 2"])
        host.shutDown()
        #expect(host.log.value.count == 2)
    }

    @Test("when the peer has refused it, unless it has become a dead letter", arguments: [false, true])
    func refused(becomesLetter: Bool) throws {
        let host = try JournaledHost(keepsLetters: becomesLetter)
        host.owe(1)
        host.link.publish(2, from: LinkPair.hostSource)
        _ = host.peer.receive()
        for sequence in 1...UInt64(2) {
            host.peer.send(.refuse(Refusal(sequence: sequence, reason: 2, text: "no")))
        }
        // All that is settled is told by now.
        host.peer.send(event: 1)
        host.log.wait { $0.last == "recorded 1" }
        let settled = becomesLetter ? [] : ["settled 1"]
        #expect(host.log.value == ["refused 1, owed"] + settled + ["refused 2, not owed", "recorded 1"])
        host.shutDown()
    }

    /// What becomes of the worker while events that it has published lie in its outbox.
    enum Fate: CaseIterable {
        case goesOn, dies, isClosed, breaksProtocol, leavesDamage

        /// Whether the host gets all that the worker has published.
        var leavesAll: Bool { self == .goesOn || self == .dies }
    }

    @Test(
        "not while what it has caused lies only in the peer's memory, though the outbox is settled then",
        arguments: Fate.allCases
    )
    func memoryIsNoRecord(_ fate: Fate) throws {
        var limits = LinkLimits()
        limits.windowEvents = 4
        let pair = try LinkPair(
            .socket,
            limits: limits,
            recoversOutbox: true,
            hostDispose: { _, head in
                if fate == .leavesDamage, head.sequence == 7 { throw LinkViolation("event 7 is not to be had") }
                return .pending
            },
            workerDispose: { link, _ in
                for number in 1...10 { link.put(number, from: LinkPair.workerSource) }
                return .pending
            }
        )
        pair.host.owe(1)
        pair.workerDelegate.events.wait { $0.count == 1 }
        pair.worker.eventHandled(1)
        pair.worker.acknowledgeNow()
        pair.hostDelegate.events.wait { $0.count == 4 }
        waitUntil { pair.host.outboxDepth.events == 0 }
        // This message comes behind the acknowledgement, and what the host does because of that.
        pair.worker.send(.moreTime(milliseconds: 1, reason: ""))
        pair.hostDelegate.messages.wait { $0.last == .moreTime(milliseconds: 1, reason: "") }
        #expect(pair.hostDelegate.settled.value.isEmpty)
        switch fate {
        case .goesOn:
            for sequence in 1...UInt64(10) {
                pair.hostDelegate.events.wait { $0.count >= sequence }
                pair.host.eventHandled(sequence)
                pair.host.acknowledgeNow()
            }
            pair.hostDelegate.settled.wait { !$0.isEmpty }
        case .dies, .leavesDamage:
            pair.worker.close()
            pair.host.peerIsGone()
        case .isClosed: pair.host.close()
        case .breaksProtocol: pair.worker.send(.refuse(Refusal(sequence: 99, reason: 2, text: "")))
        }
        if fate != .goesOn { pair.hostDelegate.end.wait { $0 != nil } }
        pair.shutDown()
        let settled = pair.hostDelegate.settled.value
        // What never comes is in no record: the next host has to deliver the event once more.
        #expect(settled.map(\.number) == (fate.leavesAll ? [1] : []))
        #expect(settled.first?.behind == (fate.leavesAll ? Array(1...10) : nil))
    }
}

/// A host's link to a peer that speaks by hand, and in which order a journal would hear of events.
private final class JournaledHost: PartialSink, @unchecked Sendable {
    // Sendable: constant, or guarded by its own lock.
    let log = Shared<[String]>([])
    let link: Link
    let peer: ManualPeer
    private let poller: Poller
    private let isEstablished = Shared(false)
    private let hasEnded = Shared(false)
    /// Whether refused events become dead letters.
    private let keepsLetters: Bool
    /// Called for each event before it is recorded.
    private let record: @Sendable (JournaledHost, UInt64) -> Void
    /// Called for each event as its inline handler.
    private let handle: @Sendable (UInt64) -> Void

    init(
        features: LinkFeatures = [],
        keepsLetters: Bool = false,
        record: @escaping @Sendable (JournaledHost, UInt64) -> Void = { _, _ in },
        handle: @escaping @Sendable (UInt64) -> Void = { _ in }
    ) throws {
        (self.keepsLetters, self.record, self.handle) = (keepsLetters, record, handle)
        poller = try Poller(name: "test")
        let (near, far) = MemoryStream.pair(poller: poller)
        link = Link(
            peerName: "canvas",
            role: .host,
            ownSource: LinkPair.hostSource,
            limits: LinkLimits(),
            poller: poller
        )
        peer = ManualPeer(far)
        try link.start(over: near, delegate: self)
        peer.send(.hello(LinkPair.hello(features: features)))
        isEstablished.wait { $0 }
    }

    /// Sends the peer owed events up to a number, and returns when the peer has them.
    func owe(_ count: Int) {
        for number in 1...count { link.owe(number) }
        for _ in 1...count { _ = peer.receive() }
    }

    func shutDown() {
        link.close()
        hasEnded.wait { $0 }
        poller.stop()
    }

    func link(_ link: Link, received run: inout EventRun) -> EventDisposition {
        let sequence = run.sequence
        record(self, sequence)
        log.change { $0.append("recorded \(sequence)") }
        guard link.strand.enter() else {
            link.strand.append { link.eventHandled(sequence) }
            return .pending
        }
        defer { link.strand.leave() }
        handle(sequence)
        return .handled
    }

    func link(
        _ link: Link,
        wasRefused head: EventHead,
        payload: UnsafeRawBufferPointer,
        isOwed: Bool,
        refusal: Refusal
    ) -> Bool {
        log.change { $0.append("refused \(head.sequence), \(isOwed ? "owed" : "not owed")") }
        return keepsLetters
    }

    func link(_ link: Link, sawSettled numbers: [ClosedRange<UInt64>], of source: EventSource) {
        // A journal may call anything: the calling thread must not hold the link's lock.
        _ = link.tally
        log.change { $0 += numbers.joined().map { "settled \($0)" } }
    }

    func link(_ link: Link, received message: ControlMessage) {
        guard case .hello(let hello) = message else { return }
        link.established(
            peerSource: LinkPair.workerSource,
            ownIncarnation: LinkPair.hostSource.incarnation,
            peerWindowBytes: hello.windowBytes,
            peerWindowEvents: hello.windowEvents,
            peerFrameBytes: hello.frameBytes,
            peerFeatures: hello.features
        )
        link.releaseEvents()
        isEstablished.change { $0 = true }
    }

    func linkEnded(_ link: Link, _ end: LinkEnd) { hasEnded.change { $0 = true } }
}

extension Link {
    /// Publishes an event that a journal records, and whose settlement the journal has to hear of.
    fileprivate func owe(_ number: Int) {
        let context = EventContext(
            id: EventID(source: LinkPair.hostSource, number: UInt64(number)),
            nanosecondsSinceEpoch: 1
        )
        var evicted: [Evicted] = []
        _ = payload(number).withUnsafeBytes {
            enqueue(context, name: "BoxSaved", isOwed: true, payload: $0, evicted: &evicted)
        }
        flush(at: WallClock.now())
    }
}
