import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks
import TestSupport

@testable import BridgeTransport
@testable import EventRouting

/// A router of its own, and peers that are down: what is published for them stays in their outboxes.
final class RoutingBench: Sendable {
    let publisher = EventPublisher()
    let poller: Poller
    let router: EventRouter

    /// - Parameter keepsLetters: whether the router keeps dead letters, as a host's does.
    init(
        keepsLetters: Bool = false,
        control: ControlNames = ControlNames(),
        tap: (@Sendable (PassingEvent) -> Void)? = nil
    ) throws {
        poller = try Poller(name: "routing")
        let reports = ReportStrand(publisher: publisher, poller: poller)
        let bounds = DeadLetterBounds(letters: 10, bytes: 1 << 20, evictsOldest: false)
        let letters = DeadLetterStore(bounds: bounds, reports: reports, journal: publisher.recording)
        router = EventRouter(
            publisher: publisher,
            poller: poller,
            reports: reports,
            deadLetters: keepsLetters ? letters : nil,
            control: control,
            tap: tap
        )
    }

    deinit {
        poller.stop()
    }

    /// A peer whose specification says that it wants these events.
    func peer(
        _ name: String,
        wants names: [String] = [],
        pool: PeerPool? = nil,
        limits: LinkLimits = LinkLimits(),
        isAttached: Bool = false
    ) -> Peer {
        let peer = Peer(
            peerName: name,
            role: .host,
            ownSource: publisher.source,
            limits: limits,
            specified: EventName.set(names),
            isRenewed: true,
            poller: poller,
            isAttached: isAttached
        )
        peer.pool = pool
        return peer
    }

    /// Routes an event that a peer brings: a run of one.
    ///
    /// - Parameters:
    ///   - publishable: the names of the events that the peer may publish; nil for any.
    ///   - events: takes the event; nil for an object that takes no other event.
    @discardableResult
    func receive(
        _ sequence: UInt64,
        _ name: WireName,
        payload: [UInt8],
        from sender: Peer,
        publishable: Set<EventName>? = nil,
        by events: PeerEvents? = nil
    ) throws -> EventDisposition {
        let head = EventHead(sequence: sequence, id: .sender(number: sequence), nanosecondsSinceEpoch: 1, name: name)
        let context = EventContext(
            id: EventID(origin: sender.peerName, incarnation: 7, number: sequence),
            nanosecondsSinceEpoch: 1
        )
        let link = sender.link
        let events = events ?? PeerEvents(of: sender, to: router, publishable: publishable)
        return try payload.withUnsafeBytes { payload in
            try withUnsafePointer(to: context) { context in
                var run = EventRun(
                    of: head,
                    sequence: sequence,
                    context: context,
                    payload: payload,
                    strand: link.strand
                )
                return try events.link(link, received: &run)
            }
        }
    }

    func makeContext() -> EventContext { publisher.makeContext(causedBy: nil) }
}

extension Link {
    /// How many events and gaps lie in the outbox or wait before it.
    var kept: Int { lock.withLock { sending.keptEvents } }

    /// Whether a publisher waits for room here.
    var isAwaited: Bool { lock.withLock { waiters.areSendersWaiting } }

    /// As after the handshake with a process of these events.
    func establish(as source: EventSource, frameBytes: UntrustedNumber = 1_048_576) {
        established(
            peerSource: source,
            ownIncarnation: 1,
            peerWindowBytes: 1_048_576,
            peerWindowEvents: 4_096,
            peerFrameBytes: frameBytes
        )
    }
}

extension Peer {
    /// Does as if a process had handled all events.
    func makeRoom() {
        let former = lock.withLock {
            let former = current
            // Between the two steps a publisher would put its event into a link that the second step replaces.
            _ = former.retireForGood()
            putInPlace(makeLink())
            return former
        }
        former.wakeWaiters()
    }

    /// Puts an event into the outbox.
    @discardableResult
    func put(
        _ context: EventContext,
        _ name: String,
        isHeld: Bool = false,
        wantsReceipt: Bool = false
    ) throws -> Place? {
        try [UInt8]([0xA0]).withUnsafeBytes { payload in
            try enqueue(
                context,
                name: name,
                isHeld: isHeld,
                wantsReceipt: wantsReceipt,
                isAccepted: true,
                payload: payload
            )
        }
    }
}

extension Topic {
    /// As where there are no subscribers in this process: nothing is held for their sake.
    func sendToAll(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        receipts: ReceiptLedger?,
        to targets: [Peer],
        attached: [Peer],
        by router: EventRouter
    ) -> Forwarded {
        var held: HeldEvents?
        return sendToAll(
            payload,
            context: context,
            receipts: receipts,
            to: targets,
            attached: attached,
            held: &held,
            by: router
        )
    }

    /// As where there are no subscribers in this process: nothing is held for their sake.
    func send(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        except origin: Peer? = nil,
        wantsReceipt: Bool,
        to targets: [Peer],
        attached: [Peer],
        by router: EventRouter
    ) -> Sent {
        var held: HeldEvents?
        return send(
            payload,
            context: context,
            except: origin,
            wantsReceipt: wantsReceipt,
            to: targets,
            attached: attached,
            held: &held,
            by: router
        )
    }
}

/// Returns when `isTrue` holds, and throws if the test's time is over.
func wait(until isTrue: () -> Bool) async throws {
    while !isTrue() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

/// Returns when another thread waits for this lock, which the caller holds.
func waitUntilWanted(_ lock: Lock) {
    // The first word of a mutex is 2 while it is held and another thread sleeps until it is free.
    waitUntil { UnsafeRawPointer(lock.mutex).load(as: Int32.self) == 2 }
}
