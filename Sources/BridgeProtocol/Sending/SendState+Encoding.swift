import CBOR
package import DomainEvents

/// How events become frames in the outbox, and how this side reads its own frames again.
extension SendState {
    // MARK: - Writing

    /// Encodes an event into the outbox.
    ///
    /// Most heads are written *in place*, straight into the outbox: those that an ``EventFrame/PlainHead`` can express.
    ///
    /// - Parameter number: this process's number for the name; 0 if it has none.
    /// - Returns: False if the memory that is shared with the host has no room for the event.
    mutating func append(
        _ context: BorrowedContext,
        name: String,
        number: UInt64 = 0,
        attempt: UInt64 = 1,
        wantsReceipt: Bool = false,
        strikes: [String]? = nil,
        payload: UnsafeRawBufferPointer
    ) -> Bool {
        let peerNumber = names.number(of: name, known: number)
        let source = context.source
        let mayComeAgain = source._withUnsafeGuaranteedRef { $0.mayComeAgain }
        // An importer's attempt counts as well: it says that the event may be a repeat.
        let attempt = mayComeAgain ? max(attempt, context.attempt) : attempt
        // An event that may come again after a restart (an importer may bring any event of another machine, and a host
        // any event in its journal) brings no settled mark. Nor does an event that comes again now: in a new outbox,
        // others that come again may follow it with lower numbers, because two threads publish in any order.
        let isFirst = attempt == 1
        let settledBelow = mayComeAgain || !isFirst ? nil : settledMark(before: context)
        let isPlain = isFirst && !wantsReceipt && strikes == nil && isPlain(context)
        if isPlain, let peerNumber, let causes = nearCauses(of: context),
            let spelling = source._withUnsafeGuaranteedRef({ spelling(of: $0) })
        {
            let head = EventFrame.PlainHead(
                sequence: outbox.lastSequence &+ 1,
                source: spelling,
                number: context.number,
                nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
                name: peerNumber,
                causes: causes,
                settledBelow: settledBelow
            )
            let length = head.length + payload.count
            let place = source._withUnsafeGuaranteedRef {
                outbox.append(frameLength: length, source: $0, number: context.number)
            }
            guard let frame = place else { return false }
            head.encode(at: frame, payloadBytes: payload.count)
            if let start = payload.baseAddress {
                (frame + head.length).copyMemory(from: start, byteCount: payload.count)
            }
            outbox.frameWasWritten(frameLength: length)
        } else {
            let isAppended = appendFully(
                context,
                name: peerNumber.map(WireName.number) ?? .text(name),
                attempt: attempt,
                wantsReceipt: wantsReceipt,
                settledBelow: settledBelow,
                strikes: strikes,
                payload: payload
            )
            guard isAppended else { return false }
            if wantsReceipt, isHost {
                receipts.expect(context.id, sequence: outbox.lastSequence, oldest: outbox.firstSequence)
            }
        }
        let sequence = outbox.lastSequence
        note(name, .appended(sequence: sequence, name: name, context.context, attempt: Int(clamping: attempt)))
        return true
    }

    /// Whether the event's head only has to say which event it is, when it was published, and what caused it.
    private func isPlain(_ context: BorrowedContext) -> Bool {
        guard let full = context.full else { return true }
        return full.pointee.traceparent == nil && (full.pointee.bookmark == nil || !writesBookmarks)
    }

    /// The event's causes as an ``EventFrame/PlainHead`` spells them; nil if one is an event of a third process.
    private func nearCauses(of context: BorrowedContext) -> NearCauses? {
        guard let cause = context.cause else {
            guard let root = context.knownRoot, root != context.borrowedID else { return NearCauses() }
            return parties.near(root).map { NearCauses(root: $0) }
        }
        guard let near = parties.near(cause) else { return nil }
        guard let root = context.knownRoot, root != cause else { return NearCauses(cause: near) }
        return parties.near(root).map { NearCauses(cause: near, root: $0) }
    }

    /// The bytes that spell the source in a frame's head; empty if the source is this side, and nil if the head of the
    /// source's events is not written in place.
    ///
    /// The bytes are valid until the next call.
    private mutating func spelling(of source: EventSource) -> UnsafeRawBufferPointer? {
        if parties.isOwn(source) { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return parties.isThird(source) ? sources.spelled(source)?.bytes : nil
    }

    /// Encodes an event whose head is not written in place.
    private mutating func appendFully(
        _ context: BorrowedContext,
        name: WireName,
        attempt: UInt64,
        wantsReceipt: Bool,
        settledBelow: UInt64?,
        strikes: [String]?,
        payload: UnsafeRawBufferPointer
    ) -> Bool {
        let id = context.id
        var head = EventHead(
            sequence: outbox.lastSequence &+ 1,
            id: parties.written(id),
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            name: name
        )
        head.attempt = UntrustedNumber(attempt)
        head.wantsReceipt = wantsReceipt
        if let cause = context.cause { head.cause = parties.written(cause.id) }
        let root = context.root
        if root != context.cause ?? context.borrowedID { head.root = parties.written(root.id) }
        if let full = context.full {
            head.isReplay = full.pointee.isReplay
            head.traceparent = full.pointee.traceparent?.description
            if writesBookmarks { head.bookmark = full.pointee.bookmark?.bookmark.bytes }
        }
        head.settledBelow = settledBelow.map { UntrustedNumber($0) }
        headBuffer.removeAll()
        EventFrame.encodeHead(head, payloadBytes: payload.count, into: headBuffer)
        let headBytes = headBuffer.bytes
        let length = headBytes.count + payload.count
        let place = outbox.append(
            frameLength: length,
            source: id.source,
            number: id.number,
            attempt: UInt32(clamping: attempt),
            strikes: strikes
        )
        guard let frame = place else { return false }
        if let start = headBytes.baseAddress { frame.copyMemory(from: start, byteCount: headBytes.count) }
        if let start = payload.baseAddress {
            (frame + headBytes.count).copyMemory(from: start, byteCount: payload.count)
        }
        outbox.frameWasWritten(frameLength: length)
        if head.isReplay { replays.append(id, as: outbox.lastSequence) }
        return true
    }

    mutating func append(_ event: OverflowQueue.Waiting) -> Bool {
        if event.isOwed { outbox.willOwe() }
        let isAppended = event.payload.withUnsafeBytes { payload in
            event.context.withBorrowed { context in
                append(
                    context,
                    name: event.name,
                    attempt: event.attempt,
                    wantsReceipt: event.wantsReceipt,
                    payload: payload
                )
            }
        }
        if isAppended, event.isOwed { outbox.lastIsOwed() }
        return isAppended
    }

    mutating func append(_ gap: Gap) -> Bool {
        encode(gap)
        let bytes = headBuffer.bytes
        guard
            let place = outbox.append(frameLength: bytes.count, source: parties.own, number: 0, isGap: true),
            let start = bytes.baseAddress
        else { return false }
        place.copyMemory(from: start, byteCount: bytes.count)
        outbox.frameWasWritten(frameLength: bytes.count)
        return true
    }

    /// Writes a gap's frame into the buffer for heads.
    ///
    /// If the frame is larger than the peer takes, it gets fewer ranges: events of the other sources are only counted,
    /// like those beyond ``Gap/maximumRanges``.
    private mutating func encode(_ gap: Gap) {
        // Before the handshake, the peer has not said how large its frames may be. A peer that takes no frame of this
        // length takes no events.
        let limit = parties.peer == nil ? min(maximumFrame, Self.headAllowance) : maximumFrame
        let name = names.number(of: gap.name).map(WireName.number) ?? .text(gap.name)
        var ranges = gap.ranges.map { GapFrame.Range(first: parties.written($0.first), last: $0.last.asWritten) }
        while true {
            let frame = GapFrame(
                sequence: outbox.lastSequence &+ 1,
                name: name,
                count: gap.count.asWritten,
                reason: gap.reason.rawValue,
                ranges: ranges
            )
            headBuffer.removeAll()
            frame.encode(into: headBuffer)
            if ranges.isEmpty || headBuffer.count - FrameDecoder.headBytes <= limit { return }
            ranges.removeLast(ranges.count - ranges.count / 2)
        }
    }

    // MARK: - What the receiver may forget

    /// The number below which the receiver may forget the events of this event's source.
    ///
    /// Called only for an event's first delivery. Nil if a journal or a dead letter may bring events again. Otherwise
    /// nil for most events, because finding the number takes a search; but not if the outbox is empty.
    private mutating func settledMark(before event: BorrowedContext) -> UInt64? {
        if outbox.untold.isUsed { return nil }
        eventsSinceSettledMark += 1
        if outbox.isEmpty {
            eventsSinceSettledMark = 0
            return event.number
        }
        guard isSettledMarkOld else { return nil }
        eventsSinceSettledMark = 0
        return event.source._withUnsafeGuaranteedRef { outbox.lowestNumber(of: $0) } ?? event.number
    }

    /// Whether it is time to find the settled mark anew, which takes a search through all that is kept.
    private var isSettledMarkOld: Bool { eventsSinceSettledMark >= max(1_023, outbox.count) }

    // MARK: - Reading again

    /// An event in this side's outbox, as it was accepted.
    struct Written {
        let name: String
        let context: EventContext
        let wantsReceipt: Bool
        let payload: UnsafeRawBufferPointer
    }

    /// The event of a record in the outbox; nil for a gap.
    func event(of record: Outbox.Unsettled) -> Written? {
        let body = Self.body(of: record)
        // This side wrote the frame, so it decodes.
        guard !record.isGap, let (head, payloadOffset) = try? EventFrame.decode(body, limits: limits) else {
            return nil
        }
        let written = parties.written(head)
        let context = EventContext(
            id: EventID(source: record.source, number: record.number),
            nanosecondsSinceEpoch: head.nanosecondsSinceEpoch.asWritten,
            cause: written.cause,
            root: written.root,
            traceparent: written.traceparent
        )
        return Written(
            name: names.text(of: head.name),
            context: head.isReplay ? context.replayed : context,
            wantsReceipt: head.wantsReceipt,
            payload: UnsafeRawBufferPointer(rebasing: body[payloadOffset...])
        )
    }

    /// Whether a record in the outbox is an event whose publisher waits for a receipt.
    func isAwaited(_ record: Outbox.Unsettled) -> Bool {
        // This side wrote the frame, so it decodes.
        !record.isGap && (try? EventFrame.decode(Self.body(of: record), limits: limits))?.0.wantsReceipt == true
    }

    /// The gap that a record in the outbox stands for.
    func gap(of record: Outbox.Unsettled) -> Gap? {
        // This side wrote the frame, so it decodes.
        guard let frame = try? GapFrame(decoding: Self.body(of: record), limits: limits) else { return nil }
        return parties.written(frame, name: names.text(of: frame.name))
    }

    private static func body(of record: Outbox.Unsettled) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: record.frame[FrameDecoder.headBytes...])
    }

    /// The identity and causes of an event that this side sent.
    package func context(of head: EventHead) -> EventContext { parties.written(head) }

    /// The name of an event that this side sent.
    package func name(of head: EventHead) -> String { names.text(of: head.name) }
}
