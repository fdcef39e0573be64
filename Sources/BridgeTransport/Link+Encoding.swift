import BridgeProtocol
import CBOR
import DomainEvents

/// How events become frames in the outbox, and how what this side wrote is read again.
///
/// All of it with the lock held.
extension Link {
    /// What a head takes at most beside its name: the largest identifiers thrice, and all options.
    static let headAllowance = 2_048

    /// Encodes a frame into the outbox, with the lock held.
    ///
    /// - Parameter number: by which this process knows the name; 0 if it does not.
    /// - Returns: False if the memory that is shared with the host has no room for it.
    func append(
        _ context: EventContext,
        name: String,
        number: UInt64 = 0,
        attempt: UInt64 = 1,
        wantsReceipt: Bool = false,
        strikes: [String]? = nil,
        payload: UnsafeRawBufferPointer
    ) -> Bool {
        if attempt == 1, !wantsReceipt, strikes == nil,
            let isAppended = appendPlain(context, name: name, number: number, payload: payload)
        {
            if trace != nil, isAppended { traceAppended(name, context, attempt: attempt) }
            return isAppended
        }
        var head = EventHead(
            sequence: outbox.lastSequence &+ 1,
            id: parties.written(context.id),
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            name: peerNumber(of: name, number: number).map(WireName.number) ?? .text(name)
        )
        head.attempt = UntrustedNumber(attempt)
        head.wantsReceipt = wantsReceipt
        if let cause = context.cause {
            head.cause = parties.written(cause)
            if context.root != cause { head.root = parties.written(context.root) }
        }
        head.traceparent = context.traceparent?.description
        head.settledBelow = settledMark(before: context.id).map { UntrustedNumber($0) }
        headBuffer.removeAll()
        EventFrame.encodeHead(head, payloadBytes: payload.count, into: headBuffer)
        let headBytes = headBuffer.bytes
        let frameLength = headBytes.count + payload.count
        let place = outbox.append(
            frameLength: frameLength,
            source: context.id.source,
            number: context.id.number,
            attempt: UInt32(clamping: attempt),
            strikes: strikes
        )
        guard let frame = place else { return false }
        if let start = headBytes.baseAddress { frame.copyMemory(from: start, byteCount: headBytes.count) }
        if let start = payload.baseAddress {
            (frame + headBytes.count).copyMemory(from: start, byteCount: payload.count)
        }
        outbox.frameWasWritten(frameLength: frameLength)
        if trace != nil { traceAppended(name, context, attempt: attempt) }
        return true
    }

    /// The same for an event whose head has no options and a number for a name, as most have: it is written in place.
    ///
    /// - Returns: Nil if it has not, and nothing was encoded.
    private func appendPlain(
        _ context: EventContext,
        name: String,
        number: UInt64,
        payload: UnsafeRawBufferPointer
    ) -> Bool? {
        guard context.cause == nil, context.traceparent == nil, context.id.source === parties.own,
            let peerNumber = peerNumber(of: name, number: number), !isSettledMarkDue
        else { return nil }
        eventsSinceSettledMark += 1
        let head = EventFrame.PlainHead(
            sequence: outbox.lastSequence &+ 1,
            number: context.id.number,
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            name: peerNumber
        )
        let frameLength = head.length + payload.count
        guard let frame = outbox.append(frameLength: frameLength, source: parties.own, number: context.id.number) else {
            return false
        }
        head.encode(at: frame, payloadBytes: payload.count)
        if let start = payload.baseAddress {
            (frame + head.length).copyMemory(from: start, byteCount: payload.count)
        }
        outbox.frameWasWritten(frameLength: frameLength)
        return true
    }

    /// The peer's number of a name that this process knows by a number of its own, or by none, which is 0.
    private func peerNumber(of name: String, number: UInt64) -> UInt64? {
        if number == 0 { return peerInterest.number(of: name) }
        let place = Int(truncatingIfNeeded: number) & (Self.knownNumbers - 1)
        if peerNumbers[place].own == number { return peerNumbers[place].peer }
        guard let peer = peerInterest.number(of: name) else { return nil }
        peerNumbers[place] = (number, peer)
        return peer
    }

    /// How many names' numbers are found without a look at their text.
    static let knownNumbers = 64

    /// The peer has said anew what it wants.
    func forgetPeerNumbers() {
        peerNumbers = Array(repeating: (0, 0), count: Self.knownNumbers)
    }

    /// Below which number the receiver may forget this origin's events: told when nothing is open, or now and then.
    private func settledMark(before id: EventID) -> UInt64? {
        eventsSinceSettledMark += 1
        if outbox.isEmpty {
            eventsSinceSettledMark = 0
            return id.number
        }
        guard isSettledMarkOld else { return nil }
        eventsSinceSettledMark = 0
        return outbox.lowestNumber(of: id.source) ?? id.number
    }

    /// Whether the next event will carry such a number.
    private var isSettledMarkDue: Bool { outbox.isEmpty || isSettledMarkOld }

    /// It costs a look at all that is kept.
    private var isSettledMarkOld: Bool { eventsSinceSettledMark >= max(1_023, outbox.count) }

    func name(of name: WireName) -> String {
        switch name {
        case .text(let text): text
        case .number(let number): peerInterest.name(of: number) ?? ""
        }
    }

    /// The context of a frame that this side wrote.
    ///
    /// With the lock held.
    func context(of head: EventHead, sender: EventSource, number: UInt64) -> EventContext {
        let written = parties.written(head)
        return EventContext(
            id: EventID(source: sender, number: number),
            nanosecondsSinceEpoch: head.nanosecondsSinceEpoch.asWritten,
            cause: written.cause,
            root: written.root,
            traceparent: written.traceparent
        )
    }
}
