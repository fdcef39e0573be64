import BridgePlatform
import BridgeProtocol
import DomainEvents

/// Reads what a host and one incarnation of a worker write to each other, and finds out which events are settled, and
/// how.
///
/// The watch is at the host's end of the stream, because the host acts upon everything that it reads there. The watch
/// asks neither side for its counts, so those counts can be checked against the watch's findings.
final class SettlementWatch: @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.

    /// An event or a gap that the host has written; both have a place in the order of the link.
    private enum Item {
        case event(EventID)
        case gap(FateRecord.PassedGap)
    }

    private let worker: String
    private let shelf: MemoryFile?
    private let settled: (FateRecord.Settlement) -> Void
    private var toWorker = PassingFrames()
    private var toHost = PassingFrames()
    /// The sources of both sides' events; nil until the host has sent the sources.
    private var sources: (host: EventSource, worker: EventSource)?
    /// The items that are not settled, in the order of the link.
    private var open: [(sequence: UInt64, item: Item)] = []
    private let limits = LinkLimits()

    /// - Parameters:
    ///   - shelf: the memory in which the host places large events.
    ///   - settled: called for each event or gap that the worker settles.
    init(worker: String, shelf: MemoryFile?, settled: @escaping (FateRecord.Settlement) -> Void) {
        self.worker = worker
        self.shelf = shelf
        self.settled = settled
    }

    // MARK: - From the host to the worker

    func hostWrote(_ pieces: [UnsafeRawBufferPointer], count: Int) {
        toWorker.pass(pieces, count: count, noteWritten)
    }

    private func noteWritten(_ body: UnsafeRawBufferPointer) throws {
        switch ControlMessage.kind(of: body).flatMap(FrameKind.init) {
        case .event: try noteEvent(body)
        case .placed:
            let placed = try PlacedFrame(decoding: body)
            guard let shelf, let mapping = shelf.soleMapping else { return }
            let range = try placed.range(in: shelf.byteCount, limit: limits.frameBytes)
            var frame = [UInt8](repeating: 0, count: range.count)
            try frame.withUnsafeMutableBytes { frame in
                mapping.copy(range, into: frame)
                try noteEvent(try placed.check(UnsafeRawBufferPointer(frame), limits: limits))
            }
        case .gap:
            let gap = try GapFrame(decoding: body, limits: limits)
            guard let (host, worker) = sources else { return }
            let named = gap.ranges.flatMap { range in
                let first = range.first.identity(from: host, to: worker)
                return [first, EventID(source: first.source, number: range.last.asWritten)]
            }
            let passed = FateRecord.PassedGap(
                count: Int(clamping: gap.count.asWritten),
                isOfPolicy: Gap.Reason(asWritten: gap.reason) == .policy,
                named: named
            )
            open.append((gap.sequence.asWritten, .gap(passed)))
        case .welcome:
            guard case .welcome(let welcome) = try ControlMessage(decoding: body, limits: limits) else { return }
            sources = (
                EventSource(origin: "host", incarnation: welcome.hostIncarnation),
                EventSource(origin: worker, incarnation: welcome.workerIncarnation)
            )
        default: return
        }
    }

    private func noteEvent(_ body: UnsafeRawBufferPointer) throws {
        let (head, _) = try EventFrame.decode(body, limits: limits)
        guard let (host, worker) = sources else { return }
        open.append((head.sequence.asWritten, .event(head.id.identity(from: host, to: worker))))
    }

    // MARK: - From the worker to the host

    func hostRead(_ bytes: UnsafeRawBufferPointer) {
        toHost.pass(bytes) { body in
            switch ControlMessage.kind(of: body).flatMap(FrameKind.init) {
            case .acknowledge:
                guard case .acknowledge(let said, let incarnation) = try ControlMessage(decoding: body, limits: limits),
                    incarnation == sources?.worker.incarnation
                else { return }
                settle(as: { .acknowledged($0) }) { sequence in
                    said.mark >= sequence
                        || said.ranges.contains { $0.lowerBound <= sequence && $0.upperBound >= sequence }
                }
            case .refuse:
                guard case .refuse(let refusal) = try ControlMessage(decoding: body, limits: limits) else { return }
                settle(as: { .refused($0) }) { refusal.sequence == $0 }
            default: return
            }
        }
    }

    private func settle(as settlement: (EventID) -> FateRecord.Settlement, _ isMeant: (UInt64) -> Bool) {
        var left: [(sequence: UInt64, item: Item)] = []
        for entry in open {
            guard isMeant(entry.sequence) else {
                left.append(entry)
                continue
            }
            switch entry.item {
            case .event(let id): settled(settlement(id))
            case .gap(let gap): settled(.gap(gap))
            }
        }
        open = left
    }
}
