import BridgeProtocol
import CBOR

/// A body written by hand.
func body(_ write: (CBORWriter) -> Void) -> [UInt8] {
    let buffer = CBORBuffer()
    write(CBORWriter(buffer))
    return buffer.copied()
}

func decodeMessage(_ body: [UInt8], limits: LinkLimits = LinkLimits()) throws -> ControlMessage? {
    try body.withUnsafeBytes { try ControlMessage(decoding: $0, limits: limits) }
}

func decodeEvent(_ body: [UInt8], limits: LinkLimits = LinkLimits()) throws -> (head: EventHead, payload: [UInt8]) {
    try body.withUnsafeBytes {
        let (head, offset) = try EventFrame.decode($0, limits: limits)
        return (head, Array($0[offset...]))
    }
}

/// A frame without its length.
func bodyOf(_ frame: [UInt8]) -> [UInt8] { Array(frame.dropFirst(FrameDecoder.headBytes)) }

/// One message of every kind, and those forms of it that are encoded differently.
let sampleMessages: [ControlMessage] = [
    .hello(
        Hello(
            versions: 1...3,
            name: "canvas",
            cookie: "5f3a",
            library: "event-bridge 1.0",
            windowBytes: 1 << 20,
            windowEvents: 4_096,
            frameBytes: 16 << 20
        )
    ),
    .hello(
        Hello(
            name: "canvas",
            cookie: "5f3a",
            library: "event-bridge 1.0",
            windowBytes: 1 << 20,
            windowEvents: 4_096,
            frameBytes: 16 << 20,
            features: .takesPlacedEvents
        )
    ),
    .welcome(
        Welcome(
            version: 1,
            library: "event-bridge 1.0",
            hostIncarnation: .max,
            workerIncarnation: 1,
            windowBytes: 1 << 20,
            windowEvents: 4_096,
            frameBytes: 16 << 20,
            heartbeatMilliseconds: 1_000,
            features: LinkFeatures(rawValue: 1 << 40)
        )
    ),
    .welcome(
        Welcome(
            version: 1,
            library: "event-bridge 1.0",
            hostIncarnation: .max,
            workerIncarnation: 0x0123_4567_89AB_CDEF,
            windowBytes: 1 << 20,
            windowEvents: 4_096,
            frameBytes: 16 << 20,
            heartbeatMilliseconds: 1_000
        )
    ),
    .reject(Reject(reason: 1, text: "no version in common")),
    .reject(Reject(reason: 1, text: "no version in common", report: [0xA0])),
    .interest(Interest()),
    .interest(
        Interest(wanted: [.init(number: 0, name: "*"), .init(number: 300, name: "BoxSaved")], unwanted: [1, 70_000])
    ),
    .ready,
    .acknowledge(Acknowledgement(mark: 0), incarnation: 0),
    .acknowledge(Acknowledgement(mark: 9, ranges: [11...11, 13...20], after: 77), incarnation: .max),
    .refuse(Refusal(sequence: 12, reason: 1, text: "volume: expected an integer, found text")),
    .heartbeat,
    .drain(graceMilliseconds: 5_000),
    .goodbye(Goodbye(reason: 1, text: "drained", lastWritten: 10, handledMark: .max)),
]

extension ClosedRange<UntrustedNumber> {
    /// As a frame says it.
    init(_ range: ClosedRange<UInt64>) {
        self = UntrustedNumber(range.lowerBound)...UntrustedNumber(range.upperBound)
    }

    var asWritten: ClosedRange<UInt64> { lowerBound.asWritten...upperBound.asWritten }
}
