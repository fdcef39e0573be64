import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import TestSupport

extension EventRun {
    /// The head of the event in hand, as far as tests look at it: the events are the peer's own.
    var head: EventHead {
        let context = context.context
        var head = EventHead(
            sequence: sequence,
            id: .sender(number: context.id.number),
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            name: name
        )
        head.attempt = UntrustedNumber(UInt64(context.attempt))
        return head
    }
}

/// A sink of a test that looks only at some of what a link brings: the rest is ignored.
protocol PartialSink: LinkEventSink, LinkControlSink {}

extension PartialSink {
    func link(_ link: Link, received gap: GapFrame) {}
    func link(_ link: Link, received receipt: Receipt) {}
    func link(_ link: Link, leftUnconfirmed events: [EventID]) {}
    func link(_ link: Link, sawSettled numbers: [ClosedRange<UInt64>], of source: EventSource) {}
    func link(
        _ link: Link,
        wasRefused head: EventHead,
        payload: UnsafeRawBufferPointer,
        isOwed: Bool,
        refusal: Refusal
    ) -> Bool { false }
}

/// Notes everything that a link brings, and disposes of events as the test says.
final class RecordingDelegate: LinkEventSink, LinkControlSink, @unchecked Sendable {
    // Sendable: mutable state is in `Shared`, the rest is set before the link is attached.
    struct Event: Sendable, Hashable {
        let sequence: UInt64
        let number: UInt64
        let name: WireName
        let attempt: UInt64
        let payload: [UInt8]
    }

    struct Refused: Sendable, Hashable {
        let sequence: UInt64
        let payload: [UInt8]
        let refusal: Refusal
    }

    let events = Shared<[Event]>([])
    let messages = Shared<[ControlMessage]>([])
    let refused = Shared<[Refused]>([])
    /// The numbers of the settled events of which a journal would hear, each with the sequences that had come before.
    let settled = Shared<[(number: UInt64, behind: [UInt64])]>([])
    /// Events that have come; each is noted at the end of its handler, when another thread may have read on.
    private let arrivals = Shared(0)
    /// The gaps, each with how many events had come before it.
    let gaps = Shared<[(gap: GapFrame, behind: Int)]>([])
    let end = Shared<LinkEnd?>(nil)
    let isReadToEnd = Shared(false)
    /// Decides what becomes of an event.
    let dispose: @Sendable (Link, EventHead) throws -> EventDisposition
    /// Called for each message.
    let onMessage: @Sendable (Link, ControlMessage) throws -> Void

    init(
        onMessage: @escaping @Sendable (Link, ControlMessage) throws -> Void = { _, _ in },
        dispose: @escaping @Sendable (Link, EventHead) throws -> EventDisposition = { _, _ in .handled }
    ) {
        self.onMessage = onMessage
        self.dispose = dispose
    }

    func link(_ link: Link, received run: inout EventRun) throws -> EventDisposition {
        arrivals.change { $0 += 1 }
        let head = run.head
        let event = Event(
            sequence: run.sequence,
            number: run.context.context.id.number,
            name: run.name,
            attempt: head.attempt.asWritten,
            payload: Array(run.payload)
        )
        guard link.strand.enter() else {
            link.strand.append { self.handleLater(event, link, head) }
            return .pending
        }
        defer { link.strand.leave() }
        let disposition = try dispose(link, head)
        events.change { $0.append(event) }
        return disposition
    }

    /// Handles an event that arrived after one whose handler takes long.
    private func handleLater(_ event: Event, _ link: Link, _ head: EventHead) {
        let disposition = try? dispose(link, head)
        events.change { $0.append(event) }
        switch disposition {
        case .handled: link.eventHandled(head.sequence.asWritten)
        case .unwanted: link.eventHandled(head.sequence.asWritten, wasUnwanted: true)
        case .refused(let reason, let text): link.refuse(head.sequence.asWritten, reason, text: text)
        case .pending, nil: return
        }
    }

    func link(_ link: Link, received gap: GapFrame) throws {
        let behind = arrivals.value
        gaps.change { $0.append((gap, behind)) }
    }

    func link(_ link: Link, received message: ControlMessage) throws {
        try onMessage(link, message)
        messages.change { $0.append(message) }
    }

    func link(_ link: Link, received receipt: Receipt) throws {
        messages.change { $0.append(.receipt(receipt)) }
    }

    func link(_ link: Link, leftUnconfirmed events: [EventID]) {}

    func link(_ link: Link, sawSettled numbers: [ClosedRange<UInt64>], of source: EventSource) {
        let behind = self.events.value.map(\.sequence)
        settled.change { $0 += numbers.joined().map { ($0, behind) } }
    }

    func link(
        _ link: Link,
        wasRefused head: EventHead,
        payload: UnsafeRawBufferPointer,
        isOwed: Bool,
        refusal: Refusal
    ) -> Bool {
        let bytes = Array(payload)
        refused.change { $0.append(Refused(sequence: head.sequence.asWritten, payload: bytes, refusal: refusal)) }
        return false
    }

    func linkWasReadToEnd(_ link: Link, _ end: LinkEnd) {
        isReadToEnd.change { $0 = true }
    }

    func linkEnded(_ link: Link, _ end: LinkEnd) {
        self.end.change { $0 = end }
    }
}

/// A host's and a worker's link, connected and through their handshake.
final class LinkPair: Sendable {
    static let hostSource = EventSource(origin: "host", incarnation: 11)
    static let workerSource = EventSource(origin: "canvas", incarnation: 22)

    let host: Link
    let worker: Link
    let hostDelegate: RecordingDelegate
    let workerDelegate: RecordingDelegate
    let poller: Poller

    /// Connects the two links; returns when the handshake is done.
    ///
    /// `predecessor` is an ended link whose events the host's link sends again; `hostDispose` and `workerDispose` say
    /// what the side of that name does with events. Without `releasesEvents` the host's link keeps its events, as for a
    /// worker that is not ready yet.
    init(
        _ carrier: Carrier,
        limits: LinkLimits = LinkLimits(),
        recoversOutbox: Bool = false,
        releasesEvents: Bool = true,
        takesUpFrom predecessor: Link? = nil,
        wrapHost: (any ByteStream, Poller) -> any ByteStream = { stream, _ in stream },
        wrapWorker: (any ByteStream, Poller) -> any ByteStream = { stream, _ in stream },
        hostDispose: @escaping @Sendable (Link, EventHead) throws -> EventDisposition = { _, _ in .handled },
        workerDispose: @escaping @Sendable (Link, EventHead) throws -> EventDisposition = { _, _ in .handled }
    ) throws {
        poller = try Poller(name: "test")
        host = Link(peerName: "canvas", role: .host, ownSource: Self.hostSource, limits: limits, poller: poller)
        worker = Link(
            peerName: "host",
            role: .worker,
            ownSource: EventSource(origin: "canvas", incarnation: 0),
            limits: limits,
            poller: poller
        )
        hostDelegate = RecordingDelegate(
            onMessage: { link, message in Self.hostReceived(message, link, limits, releasesEvents: releasesEvents) },
            dispose: hostDispose
        )
        workerDelegate = RecordingDelegate(
            onMessage: { link, message in Self.workerReceived(message, link) },
            dispose: workerDispose
        )
        predecessor?.moveUnsettled(to: host)
        let (near, far) = try carrier.pair(poller)
        let workerEnd = wrapWorker(far, poller)
        worker.queue(.hello(Self.hello(limits, features: workerEnd.shelf == nil ? [] : .takesPlacedEvents)))
        try host.start(over: wrapHost(near, poller), delegate: hostDelegate, recoversOutbox: recoversOutbox)
        try worker.start(over: workerEnd, delegate: workerDelegate)
        workerDelegate.messages.wait { !$0.isEmpty }
        hostDelegate.messages.wait { !$0.isEmpty }
    }

    static func hello(_ limits: LinkLimits = LinkLimits(), features: LinkFeatures = []) -> Hello {
        Hello(
            name: "canvas",
            cookie: "secret",
            library: "test",
            windowBytes: UInt64(limits.windowBytes),
            windowEvents: UInt64(limits.windowEvents),
            frameBytes: UInt64(limits.frameBytes),
            features: features
        )
    }

    static func hostReceived(
        _ message: ControlMessage,
        _ link: Link,
        _ limits: LinkLimits,
        releasesEvents: Bool = true
    ) {
        guard case .hello(let hello) = message else { return }
        switch HostHandshake.helloReceived(hello, expecting: "secret") {
        case .reject(let reject): link.send(.reject(reject))
        case .accept(let version):
            link.queue(
                .welcome(
                    Welcome(
                        version: version,
                        library: "test",
                        hostIncarnation: hostSource.incarnation,
                        workerIncarnation: workerSource.incarnation,
                        windowBytes: UInt64(limits.windowBytes),
                        windowEvents: UInt64(limits.windowEvents),
                        frameBytes: UInt64(limits.frameBytes),
                        heartbeatMilliseconds: 0,
                        features: link.features
                    )
                )
            )
            link.established(
                peerSource: workerSource,
                ownIncarnation: hostSource.incarnation,
                peerWindowBytes: hello.windowBytes,
                peerWindowEvents: hello.windowEvents,
                peerFrameBytes: hello.frameBytes,
                peerFeatures: hello.features
            )
            if releasesEvents { link.releaseEvents() }
        }
    }

    static func workerReceived(_ message: ControlMessage, _ link: Link) {
        guard case .welcome(let welcome) = message else { return }
        link.established(
            ownSource: workerSource,
            peerSource: EventSource(origin: "host", incarnation: welcome.hostIncarnation),
            ownIncarnation: welcome.workerIncarnation,
            peerWindowBytes: welcome.windowBytes,
            peerWindowEvents: welcome.windowEvents,
            peerFrameBytes: welcome.frameBytes,
            peerFeatures: welcome.features
        )
        link.releaseEvents()
    }

    /// Ends both links and waits until they have ended.
    func shutDown() {
        worker.close()
        host.close()
        hostDelegate.end.wait { $0 != nil }
        workerDelegate.end.wait { $0 != nil }
        poller.stop()
    }
}

/// Four bytes that tell an event from others.
func payload(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).bigEndian) { [0x44] + Array($0) }
}

extension Link {
    /// Begins to read and write over `stream`; everything that comes goes to `delegate`.
    func start(
        over stream: any ByteStream,
        delegate: some LinkEventSink & LinkControlSink,
        recoversOutbox: Bool = false
    ) throws {
        bringEvents(to: delegate)
        try start(over: stream, control: delegate, recoversOutbox: recoversOutbox)
    }

    /// Puts an event into the outbox.
    @discardableResult
    func put(
        _ number: Int,
        from source: EventSource,
        name: String = "BoxSaved",
        payload bytes: [UInt8]? = nil
    ) -> Enqueued {
        let context = EventContext(id: EventID(source: source, number: UInt64(number)), nanosecondsSinceEpoch: 1)
        return (bytes ?? payload(number)).withUnsafeBytes { enqueue(context, name: name, payload: $0) }
    }

    /// Puts an event into the outbox, whatever other events have to give way.
    func enqueue(
        _ context: EventContext,
        name: String,
        isHeld: Bool = false,
        payload: UnsafeRawBufferPointer
    ) -> Enqueued {
        var evicted: [Evicted] = []
        return enqueue(context, name: name, isHeld: isHeld, payload: payload, evicted: &evicted)
    }

    /// Puts an event into the outbox and releases it, as a publisher does.
    func publish(_ number: Int, from source: EventSource, name: String = "BoxSaved", payload bytes: [UInt8]? = nil) {
        put(number, from: source, name: name, payload: bytes)
        flush(at: WallClock.now())
    }
}
