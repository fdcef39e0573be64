import BridgeProtocol
import CBOR
import DomainEvents
import TestSupport
import Testing

/// A worker's outbox in shared memory.
final class SharedSender {
    let memory: TestMemory
    let head: OutboxHead
    private var outbox: Outbox
    private let source = EventSource(origin: "a", incarnation: 1)
    private(set) var payloads: [[UInt8]] = []

    init(slots: Int = 64) throws {
        memory = TestMemory(slots: slots)
        var limits = LinkLimits()
        limits.windowEvents = 1 << 20
        limits.windowBytes = 1 << 40
        outbox = Outbox(limits: limits)
        let shared = outbox.share(memory)
        head = try #require(shared)
    }

    /// Puts in an event with a payload of this many bytes; false if there is no room.
    @discardableResult
    func put(_ payloadBytes: Int = 20, isWhole: Bool = true) -> Bool {
        let sequence = outbox.lastSequence + 1
        let head = EventHead(
            sequence: sequence,
            id: .sender(number: sequence),
            nanosecondsSinceEpoch: 1,
            name: .number(1)
        )
        let payload = [UInt8](repeating: UInt8(truncatingIfNeeded: sequence), count: payloadBytes)
        let frame = frame(head, payload: payload)
        let place = outbox.append(frameLength: frame.count, source: source, number: sequence)
        guard let place else { return false }
        guard isWhole else { return true }
        frame.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { place.copyMemory(from: start, byteCount: bytes.count) }
        }
        outbox.frameWasWritten(frameLength: frame.count)
        payloads.append(payload)
        return true
    }

    /// Puts in a gap that stands for `count` events.
    func putGap(of count: UInt64) {
        let sequence = outbox.lastSequence + 1
        let buffer = CBORBuffer()
        GapFrame(sequence: sequence, name: .number(1), count: count, reason: 1, ranges: []).encode(into: buffer)
        let frame = buffer.copied()
        let place = outbox.append(frameLength: frame.count, source: source, number: sequence, isGap: true)
        frame.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { place?.copyMemory(from: start, byteCount: bytes.count) }
        }
        outbox.frameWasWritten(frameLength: frame.count)
    }

    /// Writes everything to the stream, and lets the host handle all events up to `mark`, and those of `ranges`.
    func settle(through mark: UInt64, _ ranges: [ClosedRange<UntrustedNumber>] = []) throws {
        var pieces: [UnsafeRawBufferPointer] = []
        outbox.compose(into: &pieces, maximumBytes: .max)
        outbox.composedWasWritten()
        _ = outbox.settle(try outbox.credit(Acknowledgement(mark: mark, ranges: ranges)))
    }

    /// Lets the host refuse an event that was written to the stream.
    func refuse(_ sequence: UInt64) throws {
        _ = try outbox.refuse(UntrustedNumber(sequence))
        outbox.refusalWasTold(settled: nil)
    }

    var lastSequence: UInt64 { outbox.lastSequence }

    /// The events that a host recovers which has received all events up to `received`.
    func recovery(after received: UInt64) throws -> [(sequence: UInt64, payload: [UInt8])] {
        try memory.recovery(after: received)
    }
}
