import CBOR
import DomainEvents
import JSONText

/// The host's frames as lines.
extension LinesTranslator {
    /// Appends a frame as a line; appends nothing for a frame that a lines worker has no use for.
    ///
    /// - Parameter body: the body of a frame that this process has written.
    package mutating func sent(_ body: UnsafeRawBufferPointer, into lines: inout [UInt8]) throws {
        var limits = limits
        // These two limits hold only for what workers say. The host's own frames may name any number of events and
        // processes.
        (limits.interestNames, limits.processNames) = (.max, .max)
        switch ControlMessage.kind(of: body) {
        case FrameKind.event.rawValue: try eventSent(body, limits, into: &lines)
        case FrameKind.gap.rawValue: try gapSent(GapFrame(decoding: body, limits: limits), body.count, into: &lines)
        default:
            if let message = try ControlMessage(decoding: body, limits: limits) { write(message, to: &lines) }
        }
    }

    private mutating func eventSent(
        _ body: UnsafeRawBufferPointer,
        _ limits: LinkLimits,
        into lines: inout [UInt8]
    ) throws {
        let (head, payloadOffset) = try EventFrame.decode(body, limits: limits)
        let sequence = try sequenceWasSent(head.sequence, frameLength: body.count + FrameDecoder.headBytes)
        let context = head.context(from: host, to: worker)
        eventWasSent(sequence, head, context)
        CloudEvent(
            name: name(head.name),
            context: context,
            source: context.id.origin,
            sequence: sequence,
            payload: ShownPayload(UnsafeRawBufferPointer(rebasing: body[payloadOffset...]))
        ).write(to: &lines)
        lines.append(UInt8(ascii: "\n"))
    }

    private func name(_ name: WireName) -> String {
        switch name {
        case .text(let text): text
        case .number(let number): names[number] ?? ""
        }
    }

    private mutating func gapSent(_ gap: GapFrame, _ byteCount: Int, into lines: inout [UInt8]) throws {
        let sequence = try sequenceWasSent(gap.sequence, frameLength: byteCount + FrameDecoder.headBytes)
        let reason = Gap.Reason(asWritten: gap.reason)
        line(
            "gap",
            [
                ("sequence", .unsigned(sequence)), ("type", .text(name(gap.name))),
                ("count", .unsigned(gap.count.asWritten)), ("reason", .text(reason.word)),
            ],
            to: &lines
        )
    }

    private mutating func write(_ message: ControlMessage, to lines: inout [UInt8]) {
        switch message {
        case .welcome(let welcome):
            welcomed(welcome)
            line(
                "welcome",
                [
                    ("version", .unsigned(welcome.version)), ("library", .text(welcome.library)),
                    ("incarnation", .text(String(welcome.workerIncarnation, radix: 16))),
                    ("limit", .unsigned(welcome.frameBytes.asWritten)),
                ] + bookmarkMembers(welcome),
                to: &lines
            )
        case .reject(let reject):
            let reason = Reject.Reason(rawValue: reject.reason) ?? .version
            line("reject", [("reason", .text(reason.word)), ("text", .text(reject.text))], to: &lines)
        case .interest(let interest):
            let (wants, unwants) = namesWanted(interest)
            line(
                "interest",
                [("wants", .array(wants.map { .text($0) })), ("unwants", .array(unwants.map { .text($0) }))],
                to: &lines
            )
        case .acknowledge(let acknowledgement, _): credit(through: acknowledgement.mark)
        case .refuse(let refusal):
            let reason = Refusal.Reason(rawValue: refusal.reason) ?? .handlerFailed
            line(
                "refuse",
                [
                    ("sequence", .unsigned(refusal.sequence.asWritten)), ("reason", .text(reason.word)),
                    ("text", .text(refusal.text)),
                ],
                to: &lines
            )
        case .drain(let milliseconds): line("drain", [("milliseconds", .unsigned(milliseconds.asWritten))], to: &lines)
        case .goodbye(let goodbye):
            let reason = Goodbye.Reason(rawValue: goodbye.reason) ?? .internalError
            line("goodbye", [("reason", .text(reason.word)), ("text", .text(goodbye.text))], to: &lines)
        // A lines worker has no use for these frames: it neither answers them nor waits for them.
        case .hello, .ready, .moreTime, .receipt, .heartbeat: return
        }
    }

    /// The members of a welcome that concern bookmarks; none for a worker that has not asked for bookmarks.
    private func bookmarkMembers(_ welcome: Welcome) -> [(String, CBORValue)] {
        guard marksEvents else { return [] }
        var members = [("bookmarks", CBORValue.bool(welcome.features.contains(.bookmarks)))]
        if let bookmark = welcome.bookmark.map({ EventBookmark($0) }) {
            // Bytes that are no text are written in base64, under a name that says so, as in an event's data.
            members.append(
                bookmark.text.map { ("bookmark", .text($0)) } ?? ("bookmark_base64", .bytes(bookmark.bytes))
            )
        }
        return members
    }

    private func line(_ word: String, _ members: [(String, CBORValue)], to lines: inout [UInt8]) {
        let all = [("bridge", CBORValue.text(word))] + members
        JSONWriter().write(.map(all.map { .init(key: .text($0.0), value: $0.1) }), to: &lines)
        lines.append(UInt8(ascii: "\n"))
    }
}
