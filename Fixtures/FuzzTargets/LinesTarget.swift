import BridgeProtocol
import CBOR
import JSONText

/// Lines of a worker: in whatever pieces they arrive, they become the same frames, which a link accepts; the link's
/// answers become lines again, each a JSON object.
package final class LinesTarget: FuzzTarget {
    private let frames = CBORBuffer()
    private var limits = LinkLimits()

    package init() {
        // Small limits, so that inputs often exceed them.
        limits.frameBytes = 1 << 10
        limits.interestNames = 16
    }

    package func run(_ input: UnsafeRawBufferPointer) throws {
        let whole = try translate(input, pieces: input.count + 1)
        let inPieces = try translate(input, pieces: Int(input.first ?? 0) % 7 + 1)
        try require(whole.frames == inPieces.frames, "other frames in pieces")
        try require(whole.lines == inPieces.lines, "other answers in pieces")
        try require(whole.violation == inPieces.violation, "\(whole.violation ?? "-"), \(inPieces.violation ?? "-")")
    }

    private struct Outcome {
        var frames: [UInt8] = []
        var lines: [UInt8] = []
        var violation: String?
        /// How many events the worker was sent.
        var sent: UInt64 = 0
    }

    private func translate(_ input: UnsafeRawBufferPointer, pieces size: Int) throws -> Outcome {
        var translator = LinesTranslator(peerName: "fuzz", limits: limits)
        var decoder = LineDecoder(limit: limits.frameBytes)
        var outcome = Outcome()
        var begin = 0
        var end = 0
        do {
            while end < input.count {
                end = min(end + size, input.count)
                while case .line(let length) = try decoder.next(in: .init(rebasing: input[begin..<end])) {
                    let line = UnsafeRawBufferPointer(rebasing: input[begin..<begin + length - 1])
                    begin += length
                    try take(line, &translator, &outcome)
                }
            }
        } catch let violation as LinkViolation {
            outcome.violation = violation.description
            try require(violation.description.utf8.count < 2_000, "a sentence of \(violation)")
        }
        return outcome
    }

    private func take(
        _ line: UnsafeRawBufferPointer,
        _ translator: inout LinesTranslator,
        _ outcome: inout Outcome
    ) throws {
        frames.removeAll()
        try translator.received(try LineMessage(line, limits: limits), at: 1, into: frames)
        let bytes = frames.copied()
        outcome.frames += bytes
        var rest = bytes[...]
        // Reads the frames as a link does: the translator must not make a frame that a link refuses.
        let decoder = FrameDecoder(limit: limits.frameBytes + (64 << 10))
        while case .frame(let length) = try rest.withUnsafeBytes({ try decoder.next(in: $0) }) {
            let body = Array(rest.prefix(length).dropFirst(FrameDecoder.headBytes))
            rest = rest.dropFirst(length)
            do {
                try body.withUnsafeBytes { try check($0, &translator, &outcome) }
            } catch let violation as LinkViolation {
                throw BrokenInvariant(description: "a link would say of a frame: \(violation)")
            }
        }
        try require(rest.isEmpty, "\(rest.count) bytes are no frame")
    }

    private func check(
        _ body: UnsafeRawBufferPointer,
        _ translator: inout LinesTranslator,
        _ outcome: inout Outcome
    ) throws {
        if ControlMessage.kind(of: body) == FrameKind.event.rawValue {
            let (head, offset) = try EventFrame.decode(body, limits: limits)
            // The payload is CBOR, and comes back to the worker as an event.
            _ = try CBORValue(decoding: UnsafeRawBufferPointer(rebasing: body[offset...]))
            try sendBack(head, payload: Array(body[offset...]), &translator, &outcome)
            return
        }
        switch try ControlMessage(decoding: body, limits: limits) {
        case .hello:
            try say(
                .welcome(
                    Welcome(
                        version: 1,
                        library: "fuzz",
                        hostIncarnation: 1,
                        workerIncarnation: 2,
                        windowBytes: 1,
                        windowEvents: 1,
                        frameBytes: 1,
                        heartbeatMilliseconds: 0
                    )
                ),
                &translator,
                &outcome
            )
        case .acknowledge(let acknowledgement, _):
            let highest = max(acknowledgement.mark, acknowledgement.ranges.last?.upperBound ?? 0)
            try require(highest <= outcome.sent, "acknowledged \(highest) of \(outcome.sent)")
        case nil: throw BrokenInvariant(description: "a frame that may be skipped")
        default: break
        }
    }

    private func sendBack(
        _ head: EventHead,
        payload: [UInt8],
        _ translator: inout LinesTranslator,
        _ outcome: inout Outcome
    ) throws {
        outcome.sent += 1
        var head = head
        head.sequence = UntrustedNumber(outcome.sent)
        head.id = .sender(number: outcome.sent)
        (head.cause, head.root) = (head.cause?.turned, head.root?.turned)
        head.wantsReceipt = outcome.sent % 2 == 0
        frames.removeAll()
        EventFrame.encodeHead(head, payloadBytes: payload.count, into: frames)
        frames.append(payload)
        try hear(&translator, &outcome)
        try say(.acknowledge(Acknowledgement(mark: outcome.sent), incarnation: 1), &translator, &outcome)
        try require(translator.hasRoom, "no room though everything is acknowledged")
    }

    private func say(
        _ message: ControlMessage,
        _ translator: inout LinesTranslator,
        _ outcome: inout Outcome
    ) throws {
        frames.removeAll()
        message.encode(into: frames)
        try hear(&translator, &outcome)
    }

    /// Checks that the host's frames become lines, each of them a JSON object.
    private func hear(_ translator: inout LinesTranslator, _ outcome: inout Outcome) throws {
        var lines: [UInt8] = []
        let body = Array(frames.copied().dropFirst(FrameDecoder.headBytes))
        try body.withUnsafeBytes { try translator.sent($0, into: &lines) }
        outcome.lines += lines
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            guard case .object = try JSONReader().read(Array(line)).value else {
                throw BrokenInvariant(description: "said \(String(decoding: line, as: UTF8.self))")
            }
        }
    }
}
