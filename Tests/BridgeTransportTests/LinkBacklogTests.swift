import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks
import TestSupport
import Testing

/// The events that a host keeps for a peer whose own events do not get through.
@Suite("A peer that cannot get rid of what it publishes", .timeLimit(.minutes(5)))
struct LinkBacklogTests {
    /// A worker that answers each event, and a host that handles no answer.
    private static func pair(_ outbox: LinkEndingTests.Outbox) throws -> LinkPair {
        var limits = LinkLimits()
        limits.windowEvents = 4
        limits.outboxBytes = 10 * LinkLimits.minimumCharge
        return try LinkPair(
            .memory,
            limits: limits,
            wrapHost: { stream, _ in outbox.wrapHost(stream) },
            wrapWorker: { stream, _ in outbox.wrapWorker(stream) },
            hostDispose: { _, _ in .pending },
            workerDispose: { link, head in
                link.put(Int(head.sequence.asWritten), from: LinkPair.workerSource)
                return .handled
            }
        )
    }

    /// Publishes these events, and returns when the worker has handled them and the host knows that.
    private static func ask(_ numbers: ClosedRange<Int>, of pair: LinkPair) {
        for number in numbers { pair.host.publish(number, from: LinkPair.hostSource) }
        pair.workerDelegate.events.wait { $0.count == numbers.upperBound }
        pair.worker.acknowledgeNow()
        // This message comes after the acknowledgement.
        let last = ControlMessage.moreTime(milliseconds: 1, reason: "\(numbers.upperBound)")
        pair.worker.send(last)
        pair.hostDelegate.messages.wait { $0.last == last }
    }

    @Test("events are let go as soon as their answers are safe in shared memory, though they cannot be sent")
    func settledBySharedMemory() throws {
        let pair = try Self.pair(.shared)
        Self.ask(1...100, of: pair)
        // The last event is noted at the end of its handler, when another thread may have read on.
        pair.hostDelegate.events.wait { $0.count >= 4 }
        #expect(pair.hostDelegate.events.value.count == 4)
        // The last of them may be acknowledged a moment later.
        waitUntil { pair.host.outboxDepth.events == 0 }
        // The answers are on their way still.
        #expect(!pair.host.isQuiet)
        for sequence: UInt64 in 1...100 {
            pair.hostDelegate.events.wait { $0.count >= Int(sequence) }
            pair.host.eventHandled(sequence)
        }
        let isQuiet = Shared(false)
        pair.host.whenQuiet { isQuiet.change { $0 = true } }
        #expect(isQuiet.wait { $0 })
        pair.shutDown()
    }

    @Test(
        "a peer whose answers pile up is given no more to do, until they get through",
        arguments: LinkEndingTests.Outbox.allCases
    )
    func backedUp(outbox: LinkEndingTests.Outbox) throws {
        let pair = try Self.pair(outbox)
        // Four of these answers have arrived; the limit is 20 events of the least charge.
        Self.ask(1...15, of: pair)
        #expect(!pair.host.hasBacklog)
        #expect(!pair.host.whenNotBackedUp {})
        Self.ask(16...60, of: pair)
        #expect(pair.host.hasBacklog)
        #expect(!pair.host.hasRoom(for: "BoxSaved"))
        #expect(pair.host.load.isFull)
        // An event for the worker is taken, and its sender is told to wait.
        guard case .accepted(_, let isCrowded) = pair.host.put(100, from: LinkPair.hostSource) else {
            Issue.record("the event was not taken")
            return
        }
        #expect(isCrowded)
        let goesOn = Shared(false)
        try #require(pair.host.whenNotBackedUp { goesOn.change { $0 = true } })
        var handled: UInt64 = 0
        waitUntil {
            let arrived = UInt64(pair.hostDelegate.events.value.count)
            while handled < arrived {
                handled += 1
                pair.host.eventHandled(handled)
            }
            return goesOn.value
        }
        #expect(!pair.host.hasBacklog)
        pair.shutDown()
    }

    @Test("a pause lets go what the peer has published, though its acknowledgements stood behind events that now stay")
    func paused() throws {
        var limits = LinkLimits()
        limits.windowEvents = 1
        limits.outboxBytes = 4 * LinkLimits.minimumCharge
        let pair = try LinkPair(.memory, limits: limits, workerDispose: { _, _ in .pending })
        for number in 1...3 { pair.host.publish(number, from: LinkPair.hostSource) }
        pair.workerDelegate.events.wait { $0.count == 1 }
        for number in 1...8 { pair.worker.publish(number, from: LinkPair.workerSource) }
        // The host has handled all of them. They stay until its third event has arrived, for which there is no window.
        waitUntil { pair.worker.hasBacklog }
        #expect(!pair.worker.hasRoom(for: "BoxSaved"))
        pair.host.setPaused(true)
        pair.host.pauseChanged()
        waitUntil { pair.worker.hasRoom(for: "BoxSaved") }
        #expect(pair.worker.outboxDepth.events == 0)
        #expect(pair.host.outboxDepth.events == 3)
        pair.shutDown()
    }

    @Test("a worker that is not ready yet gets rid of its events, though events for it wait until it is ready")
    func notReady() throws {
        var limits = LinkLimits()
        limits.outboxBytes = 4 * LinkLimits.minimumCharge
        let pair = try LinkPair(.memory, limits: limits, releasesEvents: false)
        for number in 1...3 { pair.host.publish(number, from: LinkPair.hostSource) }
        for number in 1...8 { pair.worker.publish(number, from: LinkPair.workerSource) }
        waitUntil { pair.worker.outboxDepth.events == 0 }
        #expect(pair.worker.hasRoom(for: "BoxSaved"))
        #expect(pair.host.outboxDepth.events == 3)
        pair.host.releaseEvents()
        pair.workerDelegate.events.wait { $0.count == 3 }
        pair.shutDown()
    }

    @Test("a peer without shared memory may not put off for ever what its acknowledgements stand behind")
    func owed() throws {
        var limits = LinkLimits()
        limits.outboxHardBytes = 10 * LinkLimits.minimumCharge
        let poller = try Poller(name: "test")
        let (near, far) = MemoryStream.pair(poller: poller)
        let peer = ManualPeer(far)
        let delegate = RecordingDelegate(onMessage: { [limits] link, message in
            LinkPair.hostReceived(message, link, limits)
        })
        let link = Link(
            peerName: "canvas",
            role: .host,
            ownSource: LinkPair.hostSource,
            limits: limits,
            poller: poller
        )
        try link.start(over: BareStream(near), delegate: delegate)
        peer.send(.hello(LinkPair.hello()))
        delegate.messages.wait { !$0.isEmpty }
        for number: UInt64 in 1...22 {
            // Taken like a worker's events, which no hard limit keeps out.
            let context = EventContext(
                id: EventID(source: LinkPair.hostSource, number: number),
                nanosecondsSinceEpoch: 1
            )
            var evicted: [Evicted] = []
            _ = payload(Int(number)).withUnsafeBytes {
                link.enqueue(context, name: "a", isAccepted: true, payload: $0, evicted: &evicted)
            }
            link.flush(at: WallClock.now())
            // Each event is handled, but waits behind an event that does not come.
            waitUntil { link.unsettledEvent(number) != nil }
            peer.send(
                .acknowledge(
                    Acknowledgement(mark: number, after: .max),
                    incarnation: LinkPair.workerSource.incarnation
                )
            )
        }
        delegate.end.wait { $0 != nil }
        #expect(
            delegate.end.value
                == .violation(
                    """
                    it has handled 5632 bytes of events, but acknowledges them only after event \
                    18446744073709551615 of its own, \
                    which does not come; the limit is 5120 bytes
                    """
                )
        )
        poller.stop()
    }

    enum ControlMatter: CaseIterable {
        case receipt
        case refusal
    }

    @Test(
        "what is to be said to a peer that takes nothing in has a limit, at which the link ends",
        arguments: ControlMatter.allCases
    )
    func controlMessages(_ matter: ControlMatter) throws {
        let poller = try Poller(name: "test")
        let text = String(repeating: "x", count: 1_000)
        let delegate = RecordingDelegate(
            onMessage: { link, message in LinkPair.hostReceived(message, link, LinkLimits()) },
            dispose: { _, _ in .refused(.invalid, text: String(repeating: "😀", count: 1_024)) }
        )
        let (link, peer) = try ManualPeer.connected(to: delegate, poller)
        delegate.messages.wait { !$0.isEmpty }
        var count = 0
        // The stream also holds some bytes; twice the limit is more than both.
        while count < 2 * LinkLimits.waitingControlBytes / text.utf8.count, delegate.end.value == nil {
            count += 1
            switch matter {
            case .receipt:
                link.sendReceipt(of: EventID(source: LinkPair.workerSource, number: 1), process: "a", text: text)
            case .refusal: if count <= 4_000 { peer.send(event: UInt64(count)) }
            }
        }
        #expect(delegate.end.wait { $0 != nil })
        guard case .violation(let reason)? = delegate.end.value else {
            Issue.record("the end was \(String(describing: delegate.end.value))")
            return
        }
        #expect(reason.hasPrefix("it takes nothing in: 419"))
        #expect(reason.hasSuffix("bytes of control messages wait for it; the limit is 4194304"))
        poller.stop()
    }
}
