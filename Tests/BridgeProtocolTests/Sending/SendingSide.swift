import BridgeProtocol
import DomainEvents

/// A side of a link, and the frames that leave it.
///
/// A class around a value that cannot be copied, because `#expect` cannot look into such a value.
final class SendingSide {
    private var state: SendState
    private var batch = WriteBatch()
    private let limits: LinkLimits
    private static let source = EventSource(origin: "own", incarnation: 1)
    /// The same for all of them, as for the links of a process.
    let source = SendingSide.source
    /// The events that policies have taken out, or not let in.
    private(set) var evicted: [UInt64] = []

    /// - Parameter windowEvents: how many events the peer takes; nil before the handshake.
    init(
        _ policies: [String: OverflowPolicy] = [:],
        role: LinkPhaseMachine.Role = .host,
        windowEvents: UInt64? = 4,
        features: LinkFeatures = [],
        frameBytes: Int = 4_096,
        hardBytes: Int = 64 * LinkLimits.minimumCharge
    ) {
        var limits = LinkLimits()
        limits.outboxBytes = 16 * LinkLimits.minimumCharge
        limits.outboxHardBytes = hardBytes
        limits.frameBytes = frameBytes
        limits.overflow = OverflowPolicies(policies)
        self.limits = limits
        state = SendState(own: source, role: role, limits: limits, memory: .heap)
        guard let windowEvents else { return }
        establish(windowEvents: windowEvents, features: features)
        _ = state.peerIsReady()
    }

    /// The peer has said what it wants; returns why no event leaves.
    func becomeReady() -> String? { state.peerIsReady() }

    func establish(windowEvents: UInt64 = 4, frameBytes: UInt64 = 1 << 20, features: LinkFeatures = []) {
        var parties = LinkParties(own: source)
        parties.established(own: nil, peer: EventSource(origin: "peer", incarnation: 2), ownIncarnation: 3)
        state.established(
            parties,
            windowBytes: UntrustedNumber(1 << 20),
            windowEvents: UntrustedNumber(windowEvents),
            frameBytes: UntrustedNumber(frameBytes),
            features: features
        )
    }

    func context(_ number: UInt64) -> EventContext {
        EventContext(id: EventID(source: source, number: number), nanosecondsSinceEpoch: number)
    }

    /// Offers an event.
    @discardableResult
    func put(
        _ number: UInt64,
        _ name: String = "Box",
        payload: [UInt8] = [0xA0],
        attempt: UInt64 = 1,
        isHeld: Bool = false,
        wantsReceipt: Bool = false,
        isAccepted: Bool = false,
        isOwed: Bool = false,
        reserved: Int? = nil
    ) -> Enqueued {
        var gone: [Evicted] = []
        defer { evicted += gone.map(\.context.id.number) }
        return payload.withUnsafeBytes {
            state.take(
                context(number),
                name: name,
                number: 0,
                attempt: attempt,
                isHeld: isHeld,
                wantsReceipt: wantsReceipt,
                isAccepted: isAccepted,
                isOwed: isOwed,
                reserved: reserved,
                payload: $0,
                evicted: &gone
            )
        }
    }

    /// Holds an event the short way; returns its sequence, or nil if it is not taken.
    func hold(_ number: UInt64, payload: [UInt8] = [0xA0], reserved: Int = 0) -> UInt64? {
        let outcome = payload.withUnsafeBytes { payload in
            context(number).withBorrowed {
                let taking: SendState.Taking = reserved > 0 ? [.held, .withRoom] : .held
                return state.take($0, name: "Box", number: 0, as: taking, payload: payload)
            }
        }
        guard case .accepted(let sequence, _) = outcome else { return nil }
        state.giveBack(reserved)
        return sequence
    }

    /// Sends an event the short way, for an event that goes nowhere else.
    func send(_ number: UInt64, _ name: String = "Box") -> Enqueued {
        [UInt8(0xA0)].withUnsafeBytes { payload in
            context(number).withBorrowed { state.take($0, name: name, number: 0, payload: payload) }
        }
    }

    func reserve() -> Int { [UInt8(0xA0)].withUnsafeBytes { state.reserve(for: $0) } }

    func problem(_ name: String = "Box", bytes: Int = 1) -> Enqueued? {
        [UInt8](repeating: 0, count: bytes).withUnsafeBytes { state.problem(with: $0, name: name) }
    }

    /// Writes what leaves: numbers of events, with the attempt from the second on, and gaps with their counts.
    @discardableResult
    func write() throws -> [String] { try writeBodies().map { try Self.text(of: $0, limits) } }

    /// Writes what leaves, which are events only: their numbers, each with its settled mark.
    func writeMarks() throws -> [String] {
        try writeBodies().map { body in
            let head = try body.withUnsafeBytes { try EventFrame.decode($0, limits: limits).head }
            guard case .sender(let number) = head.id else { return "\(head.id)" }
            return head.settledBelow.map { "\(number) below \($0)" } ?? "\(number)"
        }
    }

    /// Writes what leaves: the bodies of the frames.
    func writeBodies() throws -> [[UInt8]] {
        batch.begin()
        state.leave(in: &batch, atMost: 1 << 20, at: { 5 })
        var bytes: [UInt8] = []
        guard batch.close() else { return [] }
        for piece in batch.remainder { bytes += piece }
        _ = batch.wasWritten(bytes.count)
        _ = state.batchWasWritten()
        var found: [[UInt8]] = []
        while bytes.count > FrameDecoder.headBytes {
            let length = bytes.prefix(FrameDecoder.headBytes).reduce(0) { $0 << 8 | Int($1) }
            let body = Array(bytes[FrameDecoder.headBytes..<FrameDecoder.headBytes + length])
            bytes.removeFirst(FrameDecoder.headBytes + length)
            found.append(body)
        }
        return found
    }

    private static func text(of body: [UInt8], _ limits: LinkLimits) throws -> String {
        try body.withUnsafeBytes { body in
            if ControlMessage.kind(of: body) == FrameKind.gap.rawValue {
                return "gap of \(try GapFrame(decoding: body, limits: limits).count)"
            }
            let head = try EventFrame.decode(body, limits: limits).head
            guard case .sender(let number) = head.id else { return "\(head.id)" }
            return head.attempt == 1 ? "\(number)" : "\(number), attempt \(head.attempt)"
        }
    }

    /// Lets the peer acknowledge everything up to an event, and the events in the ranges.
    func acknowledge(_ mark: UInt64, _ ranges: [ClosedRange<UInt64>] = []) throws {
        let said = Acknowledgement(mark: mark, ranges: ranges.map { ClosedRange($0) })
        state.settle(try state.credit(said, at: 9))
    }

    func refuse(_ sequence: UInt64) throws -> Bool {
        let refused = try state.refuse(UntrustedNumber(sequence), at: 9)
        state.refusalWasTold(settled: refused?.owed)
        return refused != nil
    }

    func move(to next: SendingSide, without sequence: UInt64? = nil) -> UndeliveredEvent? {
        state.move(to: &next.state, without: sequence)
    }

    func willOwe() { state.willOwe() }
    func refusalIsHeld() { state.refusalIsHeld() }
    func refusalIsDecided() { state.refusalIsDecided() }
    func takeAll() -> [UndeliveredEvent] { state.takeAll() }
    func release(_ sequence: UInt64) { state.release(sequence) }
    func setPaused(_ isPaused: Bool) { state.setPaused(isPaused) }
    func keep() { state.keep() }
    func drain() { state.drain() }
    func note(_ gap: Gap) { state.note(gap) }
    func takeNoMore(of name: String) { state.takeNoMore(of: LeftNames([EventName(name)])) }
    func setTraced(_ isTraced: Bool) { state.setTraced(isTraced) }
    func crashed(_ suspects: [UInt64]) -> Probation.Finding {
        state.receiverCrashed(suspects: suspects.map { EventID(source: source, number: $0) }, because: "crashed")
    }

    /// In words.
    func steps() -> [String] {
        state.takeSteps().map { step in
            switch step {
            case .waits(let id): "waits \(id.number)"
            case .dropped(let id): "dropped \(id.number)"
            case .appended(let sequence, _, let context, _): "appended \(context.id.number) as \(sequence)"
            }
        }
    }

    /// Puts an event of a journal in again.
    func putReplay(_ number: UInt64) {
        _ = [UInt8(0xA0)].withUnsafeBytes {
            state.takeReplayed(context(number).replayed, name: "Box", number: 0, payload: $0)
        }
    }

    func takeSettledReplays() -> [UInt64] { state.takeSettledReplays().map(\.number) }
    func takeUnconfirmed() -> [UInt64] { state.takeUnconfirmed().map(\.number) }
    func checkOwed() throws { try state.checkOwed(behind: 7) }
    var unconfirmedCount: UInt64 { state.unconfirmed.count }
    var awaited: [UInt64] { state.awaitedEvents.map(\.number) }
    var unfinished: [UInt64] { state.unfinished.map(\.number) }
    var isEmpty: Bool { state.isEmpty }
    var isSettled: Bool { state.isSettled }
    var isCrowded: Bool { state.isCrowded }
    var hasWritable: Bool { state.hasWritable }
    var keptBytes: Int { state.keptBytes }
    var keptEvents: Int { state.keptEvents }
    var lastComposed: UInt64 { state.outbox.lastComposed }
    var lastSequence: UInt64 { state.outbox.lastSequence }
    var firstSequence: UInt64 { state.outbox.firstSequence }
    var settlingCount: UInt64 { state.settling.histogram.count }
    var hardBytes: Int { limits.outboxHardBytes }

    /// The count of accepted events, and the count of those that are settled or wait; both must be equal.
    var books: (accepted: UInt64, others: UInt64) {
        let ended = state.handledEvents + state.outbox.refusedEvents + state.unconfirmed.count
        return (
            state.acceptedEvents, ended + state.droppedEvents + state.coalescedEvents + state.waitingEvents
        )
    }
}
