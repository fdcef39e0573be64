import BridgeProtocol
import CBOR

/// Frames of the right form, in any order and with any numbers, and at times arbitrary bytes.
enum HostileFrames {
    /// Names of events: some that a host wants, some of the bridge's own, and some texts that are not allowed as names.
    private static let names = ["a", "*", "b", "BridgeStatusRequested", "", "\u{E9}", "e\u{301}", "EventsDropped"]

    /// A hello with the right name and cookie, and with numbers from the script.
    static func hello(_ cookie: String, _ script: inout Script) -> Hello {
        Hello(
            name: "peer",
            cookie: cookie,
            library: "",
            windowBytes: script.number(near: 4_096),
            windowEvents: script.number(near: 8),
            frameBytes: script.number(near: 4_096),
            features: LinkFeatures(rawValue: script.number(near: 0))
        )
    }

    /// - Parameter incarnation: the peer's incarnation, which marks acknowledgements as the peer's own.
    static func writeFrame(into bytes: CBORBuffer, from incarnation: UInt64, _ script: inout Script) {
        switch script.choice(10) {
        case 0, 1: event(&script, into: bytes)
        case 2:
            let gap = GapFrame(
                sequence: script.number(near: 1),
                name: name(&script),
                count: script.number(near: 1),
                reason: script.number(near: 1),
                ranges: (0..<script.choice(3)).map { _ in .init(first: id(&script), last: script.number(near: 1)) }
            )
            gap.encode(into: bytes)
        case 3, 4:
            let (one, other) = (script.number(near: 2), script.number(near: 4))
            let acknowledgement = Acknowledgement(
                mark: script.number(near: 1),
                ranges: script.choice(2) == 0
                    ? [] : [UntrustedNumber(min(one, other))...UntrustedNumber(max(one, other))],
                after: script.number(near: 0),
                unwanted: script.number(near: 0)
            )
            let incarnation = script.choice(8) == 7 ? script.number(near: 1) : incarnation
            ControlMessage.acknowledge(acknowledgement, incarnation: incarnation).encode(into: bytes)
        case 5:
            let refusal = Refusal(sequence: script.number(near: 1), reason: script.number(near: 1), text: "")
            ControlMessage.refuse(refusal).encode(into: bytes)
        case 6:
            let placed = PlacedFrame(
                sequence: script.number(near: 1),
                offset: script.number(near: 4_096),
                length: script.number(near: 64)
            )
            let start = UnsafeMutableRawPointer.allocate(byteCount: PlacedFrame.maximumBytes, alignment: 1)
            defer { start.deallocate() }
            let count = placed.encode(at: start)
            bytes.append(Array(UnsafeRawBufferPointer(start: start, count: count)))
        case 7: interest(&script).encode(into: bytes)
        case 8: message(&script).encode(into: bytes)
        default: bytes.append((0..<script.choice(16)).map { _ in script.byte() })
        }
    }

    private static func event(_ script: inout Script, into bytes: CBORBuffer) {
        var head = EventHead(
            sequence: script.number(near: 1),
            id: id(&script),
            nanosecondsSinceEpoch: script.number(near: 0),
            name: name(&script)
        )
        let options = script.byte()
        if options & 1 != 0 { head.attempt = UntrustedNumber(script.number(near: 2)) }
        if options & 2 != 0 { head.wantsReceipt = true }
        if options & 4 != 0 { head.cause = id(&script) }
        if options & 8 != 0 { head.settledBelow = UntrustedNumber(script.number(near: 1)) }
        EventFrame.encodeHead(head, payloadBytes: 1, into: bytes)
        bytes.append([0xA0])
    }

    private static func name(_ script: inout Script) -> WireName {
        let choice = script.choice(16)
        return choice < names.count ? .text(names[choice]) : .number(script.number(near: 1))
    }

    private static func id(_ script: inout Script) -> WireID {
        switch script.choice(4) {
        case 0: .receiver(number: script.number(near: 1))
        case 1: .other(origin: "o", incarnation: script.number(near: 1), number: script.number(near: 1))
        default: .sender(number: script.number(near: 1))
        }
    }

    private static func interest(_ script: inout Script) -> ControlMessage {
        let wanted = (0..<script.choice(3)).map { _ in
            let name = names[script.choice(names.count)]
            // The name that stands for all events has a number of its own.
            return Interest.Name(number: script.number(near: name == "*" ? 0 : 2), name: name)
        }
        return .interest(Interest(wanted: wanted, unwanted: script.choice(4) == 3 ? [script.number(near: 2)] : []))
    }

    private static func message(_ script: inout Script) -> ControlMessage {
        switch script.choice(9) {
        case 0: .ready
        case 1: .heartbeat
        case 2: .moreTime(milliseconds: UntrustedNumber(script.number(near: 1)), reason: "")
        case 3: .receipt(Receipt(id: id(&script), process: "peer", outcome: script.number(near: 1), text: ""))
        case 4: .hello(hello("", &script))
        case 5: .drain(graceMilliseconds: UntrustedNumber(script.number(near: 1)))
        case 6: .reject(Reject(reason: script.number(near: 1), text: ""))
        case 7:
            .welcome(
                Welcome(
                    version: script.number(near: 1),
                    library: "",
                    hostIncarnation: script.number(near: 1),
                    workerIncarnation: script.number(near: 1),
                    windowBytes: script.number(near: 4_096),
                    windowEvents: script.number(near: 8),
                    frameBytes: script.number(near: 4_096),
                    heartbeatMilliseconds: script.number(near: 1),
                    features: LinkFeatures(rawValue: script.number(near: 0))
                )
            )
        default:
            .goodbye(
                Goodbye(
                    reason: script.number(near: 1),
                    text: "",
                    lastWritten: script.number(near: 1),
                    handledMark: script.number(near: 1)
                )
            )
        }
    }
}
