/// Why a shared outbox cannot be read to its end; the text is the end of a sentence.
package struct OutboxDamage: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Finds, in a dead worker's shared outbox, the accepted events that the host has not received.
///
/// The memory is untrusted, as any peer's bytes are, and a process may still be writing to it. So every byte is copied
/// once and read from the copy, and every number is checked against the file's length. The reading fails when it
/// has read more bytes than the file has, or visited more records than a worker may keep.
package struct OutboxRecovery: ~Copyable {
    private let source: any OutboxSource
    private let state: OutboxState
    private let limits: LinkLimits
    private let decoder: FrameDecoder
    private var buffer = ReceiveBuffer()

    /// The offset of the next byte to read, and how many bytes of its chunk are left to read.
    private var position = 0
    private var unread = 0
    private var nextChunk: UntrustedNumber
    /// How many bytes may still be read: this ends a circular list of chunks.
    private var budget: Int
    /// How many more bytes may be charged for the records that are visited.
    private var allowance: Int
    private let allowed: Int

    /// How many bytes the records are charged at most: twice what a worker keeps before it drops events.
    ///
    /// Every worker drops events above the same size, whatever limits its host has. A worker with an empty outbox
    /// accepts one event of any size that the frame limit allows, and then no further one. So the first event is
    /// charged at most this number.
    ///
    /// The file may be larger, because large frames leave room empty. Without this limit, a file full of the smallest
    /// events would keep the host busy for more than a minute.
    package static let allowedBytes = 2 * LinkLimits().outboxHardBytes

    /// - Parameter allowed: how many bytes may be charged for all records that are visited.
    package init(
        _ source: some OutboxSource,
        state: OutboxState,
        limits: LinkLimits,
        allowed: Int = OutboxRecovery.allowedBytes
    ) {
        self.allowed = allowed
        allowance = allowed
        self.source = source
        self.state = state
        self.limits = limits
        decoder = FrameDecoder(limit: limits.frameBytes)
        nextChunk = state.firstChunk
        budget = source.byteCount
    }

    /// What lies in the outbox under one sequence.
    package enum Record {
        case event(EventHead, payload: UnsafeRawBufferPointer)
        case gap(GapFrame)

        var sequence: UntrustedNumber {
            switch self {
            case .event(let head, _): head.sequence
            case .gap(let gap): gap.sequence
            }
        }
    }

    /// Visits the records after event `known`, oldest first, each with its link sequence; a record is valid during the
    /// call only.
    ///
    /// If `known` is nil, visits all records in the outbox: those that the worker had not seen settled, and perhaps
    /// some before them.
    ///
    /// - Throws: ``OutboxDamage`` if the outbox cannot be read to its end, or what `body` throws. What `body` did
    ///   before is not undone.
    package mutating func forEach(after known: UInt64?, _ body: (UInt64, Record) throws -> Void) throws {
        let received = known ?? 0
        guard state.accepted >= received else {
            throw OutboxDamage("it counts \(state.accepted) events, though \(received) had come")
        }
        guard known != nil || state.settled <= state.accepted else {
            throw OutboxDamage("it counts \(state.accepted) events, though event \(state.settled) is settled")
        }
        guard state.accepted > received else { return }
        // The worker took its last chunk out of the list when all was settled.
        if known == nil, state.firstChunk == 0 { return }
        var last: UInt64?
        var isFirst = true
        while state.accepted != last ?? received {
            let length = try findFrame(after: last ?? received)
            let frame = UnsafeRawBufferPointer(rebasing: buffer.readable[FrameDecoder.headBytes..<length])
            let record = try decode(frame, after: last ?? received)
            // The oldest chunk may begin with events that the host had received.
            let next = (last ?? received) &+ 1
            let newest = known == nil && last == nil ? state.accepted.clamped(to: .max) : next
            guard let sequence = record.sequence.within((last == nil ? 0 : next)...newest) else {
                throw OutboxDamage("event \(record.sequence) lies where \(next) was expected")
            }
            if sequence > received {
                let charge = LinkLimits.charge(forFrameOf: length)
                allowance -= isFirst ? min(charge, allowed) : charge
                isFirst = false
                guard allowance >= 0 else {
                    throw OutboxDamage(
                        "more follows event \(last ?? received) than the \(allowed) bytes that a worker may keep"
                    )
                }
                try body(sequence, record)
            }
            last = sequence
            buffer.consume(length)
        }
    }

    private func decode(
        _ frame: UnsafeRawBufferPointer,
        after last: UInt64
    ) throws(OutboxDamage) -> Record {
        do {
            if ControlMessage.kind(of: frame) == FrameKind.gap.rawValue {
                return .gap(try GapFrame(decoding: frame, limits: limits))
            }
            let (head, payloadOffset) = try EventFrame.decode(frame, limits: limits)
            return .event(head, payload: UnsafeRawBufferPointer(rebasing: frame[payloadOffset...]))
        } catch {
            throw OutboxDamage("what lies behind event \(last) is no event: \(error)")
        }
    }

    /// Reads until a whole frame lies at the beginning of the buffer, and returns the frame's length.
    private mutating func findFrame(after last: UInt64) throws(OutboxDamage) -> Int {
        while true {
            let rest = buffer.readable.count + unread
            guard rest >= FrameDecoder.headBytes else {
                try openNextChunk(after: last)
                continue
            }
            do {
                switch try decoder.next(in: buffer.readable) {
                case .frame(let length): return length
                case .needsBytes(let total):
                    guard total <= rest else {
                        throw OutboxDamage("the frame behind event \(last) has \(total) bytes where \(rest) are left")
                    }
                    buffer.makeRoom(for: total)
                    try fill()
                }
            } catch let damage as OutboxDamage {
                throw damage
            } catch FrameError.empty {
                try openNextChunk(after: last)
            } catch {
                throw OutboxDamage("behind event \(last), \(error)")
            }
        }
    }

    private mutating func fill() throws(OutboxDamage) {
        let wanted = min(buffer.writable.count, unread)
        guard wanted <= budget else { throw OutboxDamage("its chunks lead back to where they came from") }
        let count = source.copy(at: position, into: UnsafeMutableRawBufferPointer(rebasing: buffer.writable[..<wanted]))
        guard count == wanted else { throw OutboxDamage("it could not be read beyond byte \(position)") }
        buffer.wasFilled(by: count)
        position += count
        unread -= count
        budget -= count
    }

    private mutating func openNextChunk(after last: UInt64) throws(OutboxDamage) {
        buffer.consume(buffer.readable.count)
        guard let start = place(of: nextChunk) else {
            throw OutboxDamage(
                nextChunk == 0
                    ? "it ends behind event \(last), though \(state.accepted) events were counted"
                    : "byte \(nextChunk) is not where a chunk begins"
            )
        }
        let (length, next) = withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2) { words in
            words.initialize(repeating: 0)
            _ = source.copy(at: start, into: UnsafeMutableRawBufferPointer(words))
            return (UntrustedNumber(words[0]), UntrustedNumber(words[1]))
        }
        // A chunk's head counts as read, too, so that even a list of empty chunks ends.
        guard let bytes = length.within(OutboxLayout.slotBytes...(source.byteCount - start)),
            budget >= OutboxLayout.chunkHeadBytes
        else {
            throw OutboxDamage("a chunk of \(length) bytes begins at byte \(start) of \(source.byteCount)")
        }
        budget -= OutboxLayout.chunkHeadBytes
        position = start + OutboxLayout.chunkHeadBytes
        unread = bytes - OutboxLayout.chunkHeadBytes
        nextChunk = next
    }

    /// The offset at which a chunk begins; nil if no chunk can begin at `chunk`.
    private func place(of chunk: UntrustedNumber) -> Int? {
        let last = source.byteCount - OutboxLayout.slotBytes
        guard last >= OutboxLayout.headBytes, let start = chunk.within(OutboxLayout.headBytes...last),
            (start - OutboxLayout.headBytes) % OutboxLayout.slotBytes == 0
        else { return nil }
        return start
    }
}
