import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks
import TestSupport
import Testing

/// The numbers of a peer, and arithmetic with them.
@Suite("Numbers of a peer", .timeLimit(.minutes(5)))
struct PeerNumberTests {
    @Test("a peer that has said it acknowledges nothing breaks the protocol when it does", arguments: [true, false])
    func acknowledgesNothing(isRefusal: Bool) throws {
        let poller = try Poller(name: "test")
        let delegate = RecordingDelegate(onMessage: { link, message in
            LinkPair.hostReceived(message, link, LinkLimits())
        })
        let (link, peer) = try ManualPeer.connected(to: delegate, poller, features: .acknowledgesNothing)
        delegate.messages.wait { !$0.isEmpty }
        for number in 1...3 { link.publish(number, from: LinkPair.hostSource) }
        waitUntil { link.tally.tally.unconfirmed >= 3 }
        peer.send(
            isRefusal
                ? .refuse(Refusal(sequence: 3, reason: 1, text: ""))
                : .acknowledge(Acknowledgement(mark: 3, unwanted: 3), incarnation: LinkPair.workerSource.incarnation)
        )
        delegate.end.wait { $0 != nil }
        #expect(
            delegate.end.value
                == .violation("it settles an event, but said in its handshake that it acknowledges nothing")
        )
        #expect(link.tally.tally.unconfirmed == 3)
        #expect(link.tally.tally.handled == 0)
        poller.stop()
    }

    /// Stays in the handling of a gap until the test lets it go on.
    private final class GapHolder: PartialSink, Sendable {
        let holds = Shared(false)
        let mayGoOn = Shared(false)
        let isOver = Shared(false)

        func link(_ link: Link, received run: inout EventRun) -> EventDisposition {
            .handled
        }
        func link(_ link: Link, received gap: GapFrame) {
            holds.change { $0 = true }
            mayGoOn.wait { $0 }
        }
        func link(_ link: Link, received message: ControlMessage) {
            LinkPair.hostReceived(message, link, LinkLimits())
        }
        func linkEnded(_ link: Link, _ end: LinkEnd) { isOver.change { $0 = true } }
    }

    @Test("a gap that is in hand counts neither as an event that has arrived nor as one that is not handled")
    func gapInHand() throws {
        let poller = try Poller(name: "test")
        let delegate = GapHolder()
        let (link, peer) = try ManualPeer.connected(to: delegate, poller)
        let gap = GapFrame(
            sequence: 1,
            name: .text("BoxSaved"),
            count: 1,
            reason: 1,
            ranges: [.init(first: .sender(number: 1), last: 1)]
        )
        peer.send(frame(gap))
        delegate.holds.wait { $0 }
        let tally = link.tally.tally
        #expect(tally.arrived == 0 && tally.arrivedHandled == 0)
        delegate.mayGoOn.change { $0 = true }
        link.close()
        delegate.isOver.wait { $0 }
        poller.stop()
    }

    @Test("of a peer whose events may be lost, those that had come are counted without the gaps between them")
    func arrivedBeforeLoss() throws {
        let poller = try Poller(name: "test")
        let delegate = RecordingDelegate(onMessage: { link, message in
            LinkPair.hostReceived(message, link, LinkLimits())
        })
        let (link, peer) = try ManualPeer.connected(to: delegate, poller)
        let gap = GapFrame(
            sequence: 2,
            name: .text("BoxSaved"),
            count: 1,
            reason: 1,
            ranges: [.init(first: .sender(number: 2), last: 2)]
        )
        peer.send(event: 1)
        peer.send(frame(gap))
        peer.send(event: 3)
        peer.stream.finishWriting()
        #expect(delegate.end.wait { $0 != nil })
        delegate.events.wait { $0.count == 2 }
        #expect(delegate.gaps.value.count == 1 && delegate.events.value.map(\.sequence) == [1, 3])
        #expect(link.loss?.arrived == 2)
        poller.stop()
    }

    /// Takes no event.
    private final class Refuser: PartialSink, Sendable {
        let end = Shared<LinkEnd?>(nil)

        func link(_ link: Link, received run: inout EventRun) throws -> EventDisposition {
            throw LinkViolation("event \(run.sequence) is none")
        }
        func link(_ link: Link, received message: ControlMessage) {
            LinkPair.hostReceived(message, link, LinkLimits())
        }
        func linkEnded(_ link: Link, _ end: LinkEnd) { self.end.change { $0 = end } }
    }

    @Test("an event that breaks the protocol is refused, and not in hand for ever")
    func breach() throws {
        let poller = try Poller(name: "test")
        let delegate = Refuser()
        let (link, peer) = try ManualPeer.connected(to: delegate, poller)
        let head = EventHead(sequence: 1, id: .sender(number: 1), nanosecondsSinceEpoch: 1, name: .text("a"))
        peer.send(frame(head, payload: [0xA0]))
        delegate.end.wait { $0 != nil }
        let tally = link.tally.tally
        #expect(delegate.end.value == .violation("event 1 is none"))
        #expect(tally.arrived == 1 && tally.arrivedRefused == 1 && tally.arrivedHandled == 0)
        poller.stop()
    }

    @Test("an attempt is counted on from, whatever number a peer says", arguments: [1, 2, UInt64(UInt32.max), .max])
    func attempt(number: UInt64) {
        var head = EventHead(sequence: 1, id: .sender(number: 1), nanosecondsSinceEpoch: 1, name: .text("a"))
        head.attempt = UntrustedNumber(number)
        let context = head.context(from: LinkPair.workerSource, to: LinkPair.hostSource)
        #expect(context.attempt == Int(min(number, UInt64(UInt32.max))))
        #expect(!context.attempt.addingReportingOverflow(1).overflow)
    }
}
