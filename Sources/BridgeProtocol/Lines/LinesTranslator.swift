package import CBOR
import DomainEvents
import JSONText

/// Translates between the lines of a worker and the frames of its link.
///
/// A pure machine. On the worker's behalf it adds what lines do not carry: sequences and identities of the worker's
/// events, window credit, receipts. Lines grant the worker no window for its own events; instead, the thread that reads
/// the lines stops while ``hasRoom`` is false.
package struct LinesTranslator: Sendable {
    /// The first byte of a stream of lines; no frame begins with it, because its length would be about 2 GiB.
    package static let firstByte = UInt8(ascii: "{")

    /// How many events of the worker may wait for the host's handlers.
    ///
    /// The limit is much larger than the window of a worker that keeps an outbox of its own. While the host reads no
    /// events of a lines worker, it reads none of the worker's acknowledgements either. With a small limit, two lines
    /// workers that flood each other would therefore wait for each other for ever.
    static let openEvents = 1 << 18

    private enum Phase {
        case silent
        case begun
        case ended
    }

    let limits: LinkLimits
    private var phase = Phase.silent
    /// The sources of the worker's and of the host's events; the welcome brings the incarnations.
    private(set) var worker: EventSource
    private(set) var host: EventSource
    /// Whether the host has accepted the hello.
    package private(set) var isWelcomed = false

    // The names that the worker wants, by numbers that the worker never sees.
    private var numbers: [EventName: UInt64] = [:]
    private(set) var names: [UInt64: String] = [:]
    /// The names that the host wants, by the host's numbers.
    private var hostNames: [UInt64: String] = [:]

    // What goes to the worker.
    private var received = ReceiveWindow(windowBytes: 1 << 40, windowEvents: 1 << 20)
    /// Events that the worker was sent and has not settled.
    private var open: [UInt64: Open] = [:]
    private var openByID: [EventID: UInt64] = [:]
    private var acknowledgesNothing = false
    /// Whether the worker has asked for bookmarks.
    private(set) var marksEvents = false

    // What comes from the worker.
    private var publishes: Set<EventName>?
    private var lastSent: UInt64 = 0
    /// The charged bytes of each event that the host has not acknowledged, oldest first.
    private var charges: ArraySlice<Int> = []
    private var chargedBytes = 0

    /// An event that the worker was sent and has not settled.
    private struct Open {
        let id: EventID
        let root: EventID
        let traceparent: String?
        let wantsReceipt: Bool
    }

    package init(peerName: String, limits: LinkLimits) {
        self.limits = limits
        worker = EventSource(origin: peerName, incarnation: 0)
        host = EventSource(origin: "host", incarnation: 0)
    }

    /// The window that the host's side must grant, so that all events that ``hasRoom`` lets through fit in it.
    ///
    /// The window is twice what ``hasRoom`` lets through, plus one frame, because the host takes what has arrived from
    /// a worker even if the worker has gone and nothing is acknowledged any more.
    package static func window(_ limits: LinkLimits) -> ReceiveWindow {
        ReceiveWindow(windowBytes: 2 * limits.outboxHardBytes + limits.frameBytes, windowEvents: 2 * openEvents)
    }

    /// Whether one more event of the worker may be taken before the host acknowledges more.
    package var hasRoom: Bool {
        charges.isEmpty || (charges.count < Self.openEvents && chargedBytes < limits.outboxHardBytes)
    }

    // MARK: - From the worker

    /// Appends a line as frames; `now` is the time of an event whose line gives none, in nanoseconds since 1970.
    package mutating func received(
        _ message: LineMessage,
        at now: UInt64,
        into frames: CBORBuffer
    ) throws(LinkViolation) {
        switch phase {
        case .silent:
            guard case .hello = message else { throw LinkViolation("its first line is not its hello") }
            phase = .begun
        case .begun: break
        case .ended: throw LinkViolation("a line came after its goodbye")
        }
        switch message {
        case .hello(let hello): helloReceived(hello, into: frames)
        case .interest(let wants, let unwants):
            ControlMessage.interest(try interest(wants, unwants)).encode(into: frames)
        case .ready: ControlMessage.ready.encode(into: frames)
        case .moreTime(let milliseconds, let reason):
            ControlMessage.moreTime(milliseconds: milliseconds, reason: reason).encode(into: frames)
        case .acknowledge(let sequence): try acknowledged(through: sequence, into: frames)
        case .refuse(let refusal): try refused(refusal, into: frames)
        case .heartbeat: ControlMessage.heartbeat.encode(into: frames)
        case .goodbye(let reason, let text):
            phase = .ended
            ControlMessage.goodbye(
                Goodbye(reason: reason, text: text, lastWritten: lastSent, handledMark: received.mark)
            ).encode(into: frames)
        case .event(let event): try eventReceived(event, at: now, into: frames)
        }
    }

    private mutating func helloReceived(_ hello: LineHello, into frames: CBORBuffer) {
        acknowledgesNothing = hello.acknowledgesNothing
        publishes = hello.publishes
        marksEvents = hello.marksEvents
        var features: LinkFeatures = []
        if hello.acknowledgesNothing { features.insert(.acknowledgesNothing) }
        if hello.marksEvents { features.insert(.bookmarks) }
        ControlMessage.hello(
            Hello(
                versions: hello.versions,
                name: hello.name,
                cookie: hello.cookie,
                library: hello.library,
                windowBytes: UInt64(limits.windowBytes),
                windowEvents: UInt64(hello.window?.clamped(to: 1...limits.windowEvents) ?? limits.windowEvents),
                // Lines to the worker may have any length; the host's own limit bounds its events.
                frameBytes: UInt64(LinkLimits.greatestFrameBytes),
                features: features
            )
        ).encode(into: frames)
        let wanted = hello.wants.map { Interest.Name(number: number(of: $0), name: $0) }
        ControlMessage.interest(Interest(wanted: wanted)).encode(into: frames)
    }

    private mutating func interest(_ wants: [String], _ unwants: [String]) throws(LinkViolation) -> Interest {
        var interest = Interest()
        for name in unwants {
            guard let number = numbers[EventName(name)] else {
                throw LinkViolation("\(ShownValue.text(name)) is no longer wanted, but was not before")
            }
            interest.unwanted.append(number)
        }
        for name in wants {
            interest.wanted.append(Interest.Name(number: number(of: name), name: name))
            guard numbers.count <= limits.interestNames else {
                throw LinkViolation("interest in more than \(limits.interestNames) names")
            }
        }
        return interest
    }

    /// The number of a name for as long as the link lives; a new name gets a new number.
    private mutating func number(of name: String) -> UInt64 {
        if let known = numbers[EventName(name)] { return known }
        // 0 means all events; no single name has this number.
        let number = name == EventName.everything.text ? 0 : UInt64(names.count) + 1
        numbers[EventName(name)] = number
        if number != 0 { names[number] = name }
        return number
    }

    // MARK: - Acknowledging

    private func mustAcknowledge(_ word: String) throws(LinkViolation) {
        if acknowledgesNothing {
            throw LinkViolation("a line of \(word) came from a worker that acknowledges nothing, as its hello says")
        }
    }

    private mutating func acknowledged(
        through announced: UntrustedNumber,
        into frames: CBORBuffer
    ) throws(LinkViolation) {
        try mustAcknowledge("ack")
        guard let last = announced.within(0...received.lastReceived) else {
            throw LinkViolation(
                "acknowledged event \(announced), but \(received.lastReceived) is the newest that it was sent"
            )
        }
        while received.mark < last {
            let sequence = received.mark + 1
            if let event = close(sequence), event.wantsReceipt {
                ControlMessage.receipt(
                    Receipt(
                        id: event.id.spelled(from: worker, to: host),
                        process: worker.origin,
                        handlers: 1
                    )
                ).encode(into: frames)
            }
            _ = received.eventHandled(sequence: sequence)
        }
        writeAcknowledgement(into: frames)
    }

    private mutating func refused(_ refusal: Refusal, into frames: CBORBuffer) throws(LinkViolation) {
        try mustAcknowledge("refuse")
        var short = refusal
        short.text = refusal.text.shortened()
        ControlMessage.refuse(short).encode(into: frames)
        // If there is no such event, the link finds that out from the frame.
        if let sequence = refusal.sequence.within(0...received.lastReceived) {
            _ = close(sequence)
            _ = received.eventHandled(sequence: sequence)
        }
        writeAcknowledgement(into: frames)
    }

    private mutating func close(_ sequence: UInt64) -> Open? {
        guard let event = open.removeValue(forKey: sequence) else { return nil }
        openByID[event.id] = nil
        return event
    }

    private mutating func writeAcknowledgement(into frames: CBORBuffer) {
        guard let acknowledgement = received.takeAcknowledgement(after: 0) else { return }
        ControlMessage.acknowledge(acknowledgement, incarnation: worker.incarnation).encode(into: frames)
    }

    // MARK: - Events of the worker

    private mutating func eventReceived(
        _ event: LineEvent,
        at now: UInt64,
        into frames: CBORBuffer
    ) throws(LinkViolation) {
        if let publishes, !publishes.contains(EventName(event.name)) {
            throw LinkViolation("it published \(ShownValue.text(event.name)), which its hello does not name")
        }
        lastSent += 1
        var head = EventHead(
            sequence: lastSent,
            id: .sender(number: lastSent),
            nanosecondsSinceEpoch: event.time ?? now,
            name: .text(event.name)
        )
        head.traceparent = event.traceparent
        head.bookmark = event.bookmark
        if let cause = event.cause {
            head.cause = cause.spelled(from: worker, to: host)
            // The event inherits the root and the trace of its cause, as in a worker in Swift.
            if let known = openByID[cause].flatMap({ open[$0] }) {
                if known.root != cause { head.root = known.root.spelled(from: worker, to: host) }
                if head.traceparent == nil { head.traceparent = known.traceparent }
            }
        }
        let start = frames.count
        EventFrame.encodeHead(head, payloadBytes: event.payload.count, into: frames)
        frames.append(event.payload)
        let length = frames.count - start
        guard length - FrameDecoder.headBytes <= limits.frameBytes else {
            throw LinkViolation(
                """
                event \(lastSent), \(ShownValue.text(event.name)), has \(length) bytes in CBOR; \
                the limit is \(limits.frameBytes) bytes
                """
            )
        }
        let charge = LinkLimits.charge(forFrameOf: length)
        charges.append(charge)
        chargedBytes += charge
    }

    // MARK: - What the host says

    /// The host has handled the events up to `mark`, which makes room for more.
    mutating func credit(through mark: UntrustedNumber) {
        let settled = lastSent - UInt64(charges.count)
        guard mark > settled else { return }
        let count = Int(mark.clamped(to: lastSent) - settled)
        chargedBytes -= charges.prefix(count).reduce(0, +)
        charges.removeFirst(count)
    }

    mutating func welcomed(_ welcome: Welcome) {
        isWelcomed = true
        worker = EventSource(origin: worker.origin, incarnation: welcome.workerIncarnation)
        host = EventSource(origin: host.origin, incarnation: welcome.hostIncarnation)
    }

    /// The names that an interest of the host adds and takes away.
    mutating func namesWanted(_ interest: Interest) -> (wants: [String], unwants: [String]) {
        let unwants = interest.unwanted.compactMap { hostNames[$0] }
        for entry in interest.wanted { hostNames[entry.number] = entry.name }
        return (interest.wanted.map(\.name), unwants)
    }

    /// Notes that an event or a gap goes to the worker.
    ///
    /// - Returns: The link sequence of the event or gap.
    mutating func sequenceWasSent(
        _ announced: UntrustedNumber,
        frameLength: Int
    ) throws(LinkViolation) -> UInt64 {
        let sequence = try received.eventReceived(sequence: announced, frameLength: frameLength)
        guard acknowledgesNothing else { return sequence }
        _ = received.eventHandled(sequence: sequence)
        // The acknowledgement is not passed on, because the link itself settles the event.
        _ = received.takeAcknowledgement(after: 0)
        return sequence
    }

    mutating func eventWasSent(_ sequence: UInt64, _ head: EventHead, _ context: EventContext) {
        guard !acknowledgesNothing else { return }
        open[sequence] = Open(
            id: context.id,
            root: context.root,
            traceparent: context.traceparent?.description,
            wantsReceipt: head.wantsReceipt
        )
        openByID[context.id] = sequence
    }
}
