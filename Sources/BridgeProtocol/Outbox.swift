package import DomainEvents
import Synchronization

/// The sending side of a link: every event with a link sequence, as an encoded frame, until the peer acknowledges it.
///
/// A pure data structure. Its events survive the receiver: after a crash the unsettled events are encoded anew for the
/// next incarnation, in their order and ahead of newer events.
package struct Outbox: ~Copyable {
    /// One event in the outbox.
    private struct Record {
        var frame: UnsafeMutableRawPointer
        var number: UInt64
        var source: Unmanaged<EventSource>
        /// The length of the frame, which has 32 bits.
        private var bytes: UInt32
        /// The number of the delivery, from 1; 0 for a gap, which is a record of dropped events.
        ///
        /// The highest bit says whether a journal has to hear that the event is settled.
        private var attemptBits: UInt32
        private var credited: UInt32 = 0
        private var settled: UInt32 = 0

        init(
            frame: UnsafeMutableRawPointer,
            length: Int,
            number: UInt64,
            source: Unmanaged<EventSource>,
            attempt: UInt32
        ) {
            self.frame = frame
            self.number = number
            self.source = source
            attemptBits = min(attempt, Self.owedBit - 1)
            bytes = UInt32(length)
        }

        var length: Int { Int(bytes) }
        /// The outbox holds the source as long as it holds the record.
        var id: EventID { EventID(source: source.takeUnretainedValue(), number: number) }
        private static let owedBit: UInt32 = 1 << 31
        var attempt: UInt32 { attemptBits & (Self.owedBit - 1) }
        var isGap: Bool { attemptBits == 0 }
        var isOwed: Bool { attemptBits & Self.owedBit != 0 }
        mutating func becameOwed() { attemptBits |= Self.owedBit }
        var isCredited: Bool { credited > 0 }
        var isSettled: Bool { settled > 0 }
        var charge: Int { LinkLimits.charge(forFrameOf: length) }

        /// How many events in a row, beginning with this record's, are known to have reached the stage; 0 for none.
        ///
        /// Numbers above 1 let a search pass in a few steps over events that a peer acknowledges again and again.
        subscript(stage: Stage) -> UInt32 {
            get { stage == .credited ? credited : settled }
            set { if stage == .credited { credited = newValue } else { settled = newValue } }
        }
    }

    /// How far the peer is with an event.
    private enum Stage {
        /// The event is handled: its window credit was given back.
        case credited
        /// The event is acknowledged or refused: it does not come again.
        case settled
    }

    private var store: FrameStore
    /// The records of all kept events: a ring whose capacity is a power of two.
    private var ring = UnsafeMutablePointer<Record>.allocate(capacity: Outbox.fewRecords)
    private var capacity = Outbox.fewRecords
    private static let fewRecords = 64
    /// A ring that a burst has made larger than this is not kept.
    private static let keptRecords = 4_096

    /// The sequence of the oldest event that is kept.
    package private(set) var firstSequence: UInt64 = 1
    /// The newest event that was handed out for writing.
    package private(set) var lastComposed: UInt64 = 0
    /// The newest event that was written entirely.
    package private(set) var lastWritten: UInt64 = 0
    /// The newest event.
    package private(set) var lastSequence: UInt64 = 0
    /// Everything up to this event has been acknowledged.
    private var mark: UInt64 = 0

    /// Charged bytes of all that is kept.
    package private(set) var chargedBytes = 0
    /// Charged bytes of the handled events that are kept, and of the largest event handled since the outbox last kept
    /// no such event.
    ///
    /// A handled event stays until all events before it are freed, and until what its handlers published has arrived or
    /// lies in shared memory.
    private var credited = (bytes: 0, largest: 0)
    private var inFlightBytes = 0
    private var inFlightEvents = 0

    /// The window that the receiver has granted.
    private var windowBytes: Int
    private var windowEvents: Int

    /// The events that were open when the receiver crashed: while there are any, events go one at a time.
    package internal(set) var probation = Probation()
    /// How many events the receiver has acknowledged, without those that it refused.
    package private(set) var acknowledgedEvents: UInt64 = 0
    /// How many events the receiver has refused.
    package private(set) var refusedEvents: UInt64 = 0
    /// How many of the acknowledged events found no handler, as the receiver says.
    package private(set) var unwantedEvents: UInt64 = 0
    /// The total length, in bytes, of the frames of all events that were handed out for writing.
    package private(set) var composedBytes: UInt64 = 0
    /// How many unsettled events are kept.
    package var unsettledEvents: UInt64 { lastSequence - gaps.count - acknowledgedEvents - refusedEvents }
    /// How many gaps were put in between the events, and the sequence of the newest gap.
    private var gaps: (count: UInt64, newest: UInt64) = (0, 0)
    package var endsWithGap: Bool { !isEmpty && gaps.newest == lastSequence }

    /// Whether the peer takes large events from the shared memory that they lie in.
    private var isPlacing = false
    /// The frames that name the large events of the batch that is being written.
    private var placements = PlacedFrames()

    /// The settled events that a journal has to hear of.
    package internal(set) var untold = UntoldEvents()

    private var sources = KeptSources()

    /// An atomic has an address, and so has every value that contains one: the compiler passes the outbox, and the
    /// state that the outbox is part of, by their addresses.
    ///
    /// Without the atomic, each call of a method that only reads would first copy all of the state to the stack.
    private let hasAddress = Atomic(true)

    package init(limits: LinkLimits, memory: ChunkMemory = .heap) {
        store = FrameStore(memory)
        windowBytes = limits.windowBytes
        windowEvents = limits.windowEvents
    }

    deinit { ring.deallocate() }

    /// From now on, keeps the frames in memory that is shared with the host; only before the first event.
    ///
    /// - Returns: The memory's head page; nil if the memory cannot be used: the frames then stay in this process's own
    ///   memory.
    package mutating func share(_ memory: any OutboxMemory) -> OutboxHead? {
        guard lastSequence == 0, let region = OutboxRegion(memory) else { return nil }
        store = FrameStore(region: region)
        return region.head
    }

    /// From now on, keeps the frames of large events in memory that the peer can read, as far as that has room.
    package mutating func shelve(in memory: any OutboxMemory) {
        if store.region == nil, store.shelf == nil { store.shelf = FrameShelf(memory) }
    }

    /// From now on large events stay in the memory that the peer shares, and the stream only says where they lie.
    package mutating func beginPlacing() {
        isPlacing = true
    }

    /// How many bytes of memory the records of all kept events take, without the frames.
    package var bookkeepingBytes: Int { count * MemoryLayout<Record>.stride }
    /// Charged bytes of the events that the receiver has not handled.
    package var unhandledBytes: Int { chargedBytes - credited.bytes }
    /// Charged bytes of the handled events that are kept.
    package var creditedBytes: Int { credited.bytes }
    /// Charged bytes of the largest event handled since the outbox last kept no handled event.
    var largestCredited: Int { credited.largest }
    package var count: Int { Int(lastSequence &+ 1 &- firstSequence) }
    package var isEmpty: Bool { lastSequence &+ 1 == firstSequence }
    /// Whether the receiver has acknowledged all events that were handed out for writing.
    package var hasNothingInFlight: Bool { inFlightEvents == 0 }
    /// Whether the outbox has another event that the window lets out.
    package var hasWritable: Bool { lastComposed < lastSequence && isNextAllowed }

    private func place(of sequence: UInt64) -> UnsafeMutablePointer<Record> {
        ring + (Int(truncatingIfNeeded: sequence) & (capacity - 1))
    }

    /// The record of a kept event; nil for any other sequence.
    private func record(_ sequence: UInt64) -> UnsafeMutablePointer<Record>? {
        sequence >= firstSequence && sequence <= lastSequence ? place(of: sequence) : nil
    }

    // MARK: - Appending

    /// Takes room for the next event's frame; the event's sequence is then ``lastSequence``.
    ///
    /// Once the frame is whole, the caller calls ``frameWasWritten(frameLength:)``.
    ///
    /// - Parameters:
    ///   - strikes: the reasons of the event's strikes, which put it on probation; nil for no probation.
    ///   - isGap: whether the frame is a gap.
    /// - Returns: Where the frame goes; nil, with nothing changed, if the memory that is shared with the host has no
    ///   room left.
    package mutating func append(
        frameLength: Int,
        source: EventSource,
        number: UInt64,
        attempt: UInt32 = 1,
        strikes: [String]? = nil,
        isGap: Bool = false
    ) -> UnsafeMutableRawPointer? {
        guard let frame = store.append(frameLength) else { return nil }
        if count == capacity { makeRing(of: capacity * 2) }
        lastSequence &+= 1
        store.region?.began(lastSequence)
        sources.keep(source, of: lastSequence)
        let record = Record(
            frame: frame,
            length: frameLength,
            number: number,
            source: .passUnretained(source),
            attempt: isGap ? 0 : attempt
        )
        place(of: lastSequence).initialize(to: record)
        chargedBytes += record.charge
        if isGap {
            gaps = (gaps.count + 1, lastSequence)
        }
        if let strikes { probation.admit(lastSequence, strikes: strikes) }
        return frame
    }

    /// The newest event's frame is whole: if it lies in shared memory, it now outlives this process.
    package func frameWasWritten(frameLength: Int) {
        store.region?.accepted(lastSequence, frameLength: frameLength)
    }

    /// From now on the peer is never told which events it may forget, because some events of this outbox or of an
    /// earlier one may come again: dead letters, and events of which a journal has to hear.
    ///
    /// Called for each dead letter, and before the outbox takes its first event of which a journal has to hear.
    package mutating func willOwe() { untold.use() }

    /// Until ``refusalIsDecided()``, the peer is not told which events it may forget: a refused event may come again.
    package mutating func refusalIsHeld() { untold.refusalIsHeld() }

    package mutating func refusalIsDecided() { untold.refusalIsDecided() }

    /// A journal counts the newest event as owed to the receiver, and has to hear when the event is settled.
    ///
    /// ``willOwe()`` was called before the event was appended.
    package mutating func lastIsOwed() { record(lastSequence)?.pointee.becameOwed() }

    /// The unsettled event of this sequence, if a journal has to hear of it; otherwise nil.
    package func owedEvent(_ sequence: UInt64) -> EventID? {
        guard let record = record(sequence), record.pointee.isOwed, !record.pointee.isSettled else { return nil }
        return record.pointee.id
    }

    /// Whether the event is kept, and neither acknowledged nor refused.
    package func isUnsettled(_ sequence: UInt64) -> Bool { record(sequence)?.pointee.isSettled == false }

    /// Moves the records to a ring that has room for all of them.
    private mutating func makeRing(of capacity: Int) {
        let (former, places) = (ring, self.capacity)
        ring = .allocate(capacity: capacity)
        self.capacity = capacity
        for sequence in firstSequence..<firstSequence + UInt64(count) {
            place(of: sequence).initialize(to: former[Int(truncatingIfNeeded: sequence) & (places - 1)])
        }
        former.deallocate()
    }

    // MARK: - Writing

    private var isNextAllowed: Bool {
        guard let next = record(lastComposed &+ 1) else { return false }
        guard
            lastComposed &+ 1 <= LinkLimits.lastSequence(afterMark: mark, windowEvents: windowEvents)
        else { return false }
        if inFlightEvents == 0 { return true }
        return probation.isEmpty && inFlightEvents < windowEvents && inFlightBytes + next.pointee.charge <= windowBytes
    }

    /// Whether the window would let out all that lies in the outbox, and one more event with this charge.
    package func hasWindow(for charge: Int) -> Bool {
        guard lastSequence &+ 1 <= LinkLimits.lastSequence(afterMark: mark, windowEvents: windowEvents) else {
            return false
        }
        let events = inFlightEvents + Int(lastSequence - lastComposed)
        if events == 0 { return true }
        let bytes = unhandledBytes
        return probation.isEmpty && events < windowEvents && bytes + charge <= windowBytes
    }

    /// Hands out frames for writing, in as few contiguous pieces as possible; they stay where they are until written.
    ///
    /// - Parameters:
    ///   - pieces: receives the pieces.
    ///   - maximumBytes: about how many bytes are handed out, but at least one frame.
    ///   - last: the newest event that may leave now.
    package mutating func compose(
        into pieces: inout [UnsafeRawBufferPointer],
        maximumBytes: Int,
        through last: UInt64 = .max
    ) {
        var start: UnsafeRawPointer?
        var length = 0
        var total = 0
        while lastComposed < min(lastSequence, last), isNextAllowed, total == 0 || total < maximumBytes {
            let next = lastComposed &+ 1
            let record = place(of: next).pointee
            var bytes = UnsafeRawPointer(record.frame)
            var count = record.length
            if isPlacing, count >= LinkLimits.placedBytes {
                guard let frame = place(record, under: next), let start = frame.baseAddress else { break }
                (bytes, count) = (start, frame.count)
            }
            if let begun = start, begun + length == bytes {
                length += count
            } else {
                if let begun = start { pieces.append(UnsafeRawBufferPointer(start: begun, count: length)) }
                start = bytes
                length = count
            }
            total += count
            composedBytes &+= UInt64(record.length)
            inFlightEvents += 1
            inFlightBytes += record.charge
            lastComposed = next
        }
        if let begun = start { pieces.append(UnsafeRawBufferPointer(start: begun, count: length)) }
    }

    /// What the stream carries for a large event: the place of its frame, or the frame itself if it does not lie in
    /// shared memory; nil if this batch has no room for one more place.
    private mutating func place(_ record: Record, under sequence: UInt64) -> UnsafeRawBufferPointer? {
        guard let offset = store.sharedOffset(of: record.frame), !record.isGap else {
            return UnsafeRawBufferPointer(start: record.frame, count: record.length)
        }
        return placements.append(
            PlacedFrame(sequence: sequence, offset: UInt64(offset), length: UInt64(record.length))
        )
    }

    /// What ``compose(into:maximumBytes:through:)`` handed out has been written.
    package mutating func composedWasWritten() {
        placements.removeAll()
        lastWritten = lastComposed
        release()
    }

    /// Whether an entry is a gap; to be asked only of an entry that was handed out and is not settled.
    package func isGap(_ sequence: UInt64) -> Bool { record(sequence)?.pointee.isGap == true }

    // MARK: - Settling

    /// Gives back the window credit of the events that the peer has handled.
    ///
    /// - Returns: The checked acknowledgement, for ``settle(_:)``.
    /// - Throws: A violation if the peer names an event that was never handed out, or ranges that overlap or descend.
    package mutating func credit(_ acknowledgement: Acknowledgement) throws(LinkViolation) -> CheckedAcknowledgement {
        let checked = try CheckedAcknowledgement(acknowledgement, lastComposed: lastComposed)
        credit(checked)
        return checked
    }

    /// Gives back the window credit of all events that were handed out to a peer that acknowledges nothing.
    ///
    /// - Returns: An acknowledgement of these events, for ``settle(_:)``.
    package mutating func creditAll() -> CheckedAcknowledgement {
        let all = CheckedAcknowledgement(mark: lastComposed)
        credit(all)
        return all
    }

    private mutating func credit(_ checked: CheckedAcknowledgement) {
        // Everything up to `mark` was credited before.
        if checked.mark > mark { credit(mark &+ 1, checked.mark) }
        for range in checked.ranges { credit(range.lowerBound, range.upperBound) }
        mark = max(mark, checked.mark)
    }

    private mutating func credit(_ first: UInt64, _ last: UInt64) {
        var sequence = max(first, firstSequence)
        while sequence <= last, let record = record(sequence) {
            if record.pointee.isCredited {
                sequence = next(not: .credited, from: sequence, through: last)
                continue
            }
            record.pointee[.credited] = 1
            credited.bytes += record.pointee.charge
            credited.largest = max(credited.largest, record.pointee.charge)
            inFlightEvents -= 1
            inFlightBytes -= record.pointee.charge
            sequence += 1
        }
    }

    /// The first event from `first` to `last` that has not reached the stage; an event after `last` if all have.
    ///
    /// The event `first` must still be kept. The search joins the steps that it takes into longer steps. So later
    /// searches take few steps, whatever ranges a peer announces, and however often.
    private mutating func next(not stage: Stage, from first: UInt64, through last: UInt64) -> UInt64 {
        var sequence = first
        while sequence <= last, let record = record(sequence), case let known = record.pointee[stage], known > 0 {
            let next = sequence + UInt64(known)
            let more = next <= last ? self.record(next)?.pointee[stage] ?? 0 : 0
            if more > 0 { record.pointee[stage] = known + more }
            sequence = next + UInt64(more)
        }
        return sequence
    }

    /// Settles the events of an acknowledgement, and frees those that are not needed any more.
    ///
    /// - Returns: How many events this call has settled.
    package mutating func settle(_ acknowledgement: CheckedAcknowledgement) -> Int {
        var settled = 0
        let after = acknowledgement.after
        if acknowledgement.mark >= firstSequence { settled += settle(firstSequence...acknowledgement.mark, after) }
        for range in acknowledgement.ranges { settled += settle(range, after) }
        unwantedEvents = max(unwantedEvents, acknowledgement.unwanted.clamped(to: acknowledgedEvents))
        release()
        return settled
    }

    private mutating func settle(_ sequences: ClosedRange<UInt64>, _ after: UntrustedNumber) -> Int {
        var settled = 0
        let last = sequences.upperBound
        var sequence = max(sequences.lowerBound, firstSequence)
        while sequence <= last, let record = record(sequence) {
            if record.pointee.isSettled {
                sequence = next(not: .settled, from: sequence, through: last)
                continue
            }
            record.pointee[.settled] = 1
            if !record.pointee.isGap { settled += 1 }
            if record.pointee.isOwed { untold.append(record.pointee.id, after: after) }
            probation.settled(sequence)
            sequence += 1
        }
        acknowledgedEvents += UInt64(settled)
        return settled
    }

    /// An event that the peer has refused.
    package struct Refused {
        package let sequence: UInt64
        /// Valid until the next change of the outbox.
        package let frame: UnsafeRawBufferPointer
        /// The event, if a journal has to hear what becomes of it; otherwise nil.
        package let owed: EventID?
    }

    /// Settles an event that the peer refuses; the caller then has to call ``refusalWasTold(settled:)``.
    ///
    /// - Returns: The event; nil if it is settled already.
    package mutating func refuse(_ refused: UntrustedNumber) throws(LinkViolation) -> Refused? {
        guard lastComposed > 0, let sequence = refused.within(1...lastComposed) else {
            throw LinkViolation("refused event \(refused), but \(lastComposed) is the newest that was written")
        }
        guard let record = record(sequence), !record.pointee.isSettled else { return nil }
        guard !record.pointee.isGap else { throw LinkViolation("refused \(sequence), which is a gap and no event") }
        record.pointee[.settled] = 1
        probation.settled(sequence)
        refusedEvents += 1
        return Refused(
            sequence: sequence,
            frame: UnsafeRawBufferPointer(start: record.pointee.frame, count: record.pointee.length),
            owed: record.pointee.isOwed ? record.pointee.id : nil
        )
    }

    /// What becomes of a refused event is decided, and its frame is not needed any more.
    ///
    /// - Parameter event: the event, if a journal has to hear that it is settled; otherwise nil.
    package mutating func refusalWasTold(settled event: EventID?) {
        if let event { untold.append(event, after: 0) }
        release()
    }

    /// Frees events from the oldest on, as far as they are settled, acknowledged and written.
    ///
    /// A refused event is settled before it is acknowledged. It stays until it is acknowledged, because the receiver
    /// counts it against the window.
    private mutating func release() {
        let first = firstSequence
        while firstSequence <= lastWritten {
            let record = place(of: firstSequence)
            guard record.pointee.isSettled, record.pointee.isCredited else { break }
            credited.bytes -= record.pointee.charge
            chargedBytes -= record.pointee.charge
            probation.settled(firstSequence)
            store.removeFirst()
            firstSequence += 1
        }
        guard firstSequence > first else { return }
        store.region?.settled(through: firstSequence - 1)
        sources.release(before: firstSequence)
        if credited.bytes == 0 { credited.largest = 0 }
        guard isEmpty else { return }
        if capacity > Self.keptRecords { makeRing(of: Self.fewRecords) }
    }

    /// Takes out settled events of one source: those of which the journal may hear once it has recorded the receiver's
    /// events up to `sequence`.
    ///
    /// - Parameter numbers: gets the numbers of the events in ascending order, in place of what it has.
    /// - Returns: The source of the events; nil if the journal may hear of no further event.
    package mutating func takeUntold(
        recordedThrough sequence: UInt64,
        into numbers: inout [ClosedRange<UInt64>]
    ) -> EventSource? {
        untold.take(recordedThrough: sequence, into: &numbers)
    }

    // MARK: - What the receiver may forget

    /// The lowest number of an event of `source` that may come again; nil if none may.
    ///
    /// A refused event counts until it is acknowledged: it may be about to become a dead letter.
    package func lowestNumber(of source: EventSource) -> UInt64? {
        var lowest: UInt64?
        var sequence = firstSequence
        while sequence <= lastSequence {
            let record = place(of: sequence).pointee
            let isOver = record.isSettled && record.isCredited
            if !isOver, !record.isGap, record.source._withUnsafeGuaranteedRef({ $0 == source }) {
                lowest = min(lowest ?? record.number, record.number)
            }
            sequence += 1
        }
        return lowest
    }

    // MARK: - The next incarnation

    /// An unsettled event or gap, for its next delivery.
    package struct Unsettled {
        package let sequence: UInt64
        package let frame: UnsafeRawBufferPointer
        package let source: EventSource
        package let number: UInt64
        /// How often the event was handed to an incarnation of the receiver before.
        package let attempts: UInt32
        /// The reasons of the event's strikes; nil if the event is not on probation.
        package let strikes: [String]?
        package let isGap: Bool
        /// Whether a journal has to hear that the event is settled.
        package let isOwed: Bool
    }

    /// Visits unsettled entries, oldest first; the frames are valid during the call only.
    ///
    /// - Parameter last: the newest entry that is visited.
    package func forEachUnsettled(through last: UInt64 = .max, _ body: (Unsettled) -> Void) {
        var sequence = firstSequence
        while sequence <= min(lastSequence, last) {
            if let entry = unsettled(sequence) { body(entry) }
            sequence += 1
        }
    }

    /// The unsettled entry with this sequence, whose frame is valid until the outbox changes; nil if there is none.
    func unsettled(_ sequence: UInt64) -> Unsettled? {
        guard let record = record(sequence)?.pointee, !record.isSettled else { return nil }
        let wasHandedOut = sequence <= lastComposed
        return Unsettled(
            sequence: sequence,
            frame: UnsafeRawBufferPointer(start: record.frame, count: record.length),
            source: record.source.takeUnretainedValue(),
            number: record.number,
            attempts: wasHandedOut || record.isGap ? record.attempt : record.attempt - 1,
            strikes: probation.strikes(of: sequence),
            isGap: record.isGap,
            isOwed: record.isOwed
        )
    }

    /// Notes the window that the receiver has granted.
    package mutating func grant(windowBytes: Int, windowEvents: Int) {
        self.windowBytes = windowBytes
        self.windowEvents = windowEvents
    }
}
