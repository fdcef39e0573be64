import BridgeProtocol
import DomainEvents

/// The bytes that a link has read and not acted upon yet; only the thread that reads uses them.
final class FrameReader: @unchecked Sendable {
    // Sendable: one thread at a time uses the reader, and hands it to the next one under the lock of the link's strand.
    // So the exclusivity check gains nothing, and each event would pay for the check three times.
    @exclusivity(unchecked) var buffer = ReceiveBuffer()
    @exclusivity(unchecked) var decoder: FrameDecoder
    /// Whether anything has been read.
    var hasBegun = false
    /// How many bytes at the front of ``buffer`` are in hand or done with: the frame in hand, and the frames before it
    /// in its run (``takeRun()``).
    @exclusivity(unchecked) private var length = 0
    /// When the unfinished frame last made progress, and how many of its bytes were there at that time.
    private var progress = (bytes: 0, at: UInt64(0))

    /// The fewest bytes that are progress: a peer that sends one byte a second counts as a peer that sends nothing.
    private static let leastProgress = 4 << 10

    /// The memory of the frame that the thread in slow handlers has in hand: see ``leaveFrame()``.
    @exclusivity(unchecked) private var left: ReceiveBuffer?

    init(limit: Int) {
        decoder = FrameDecoder(limit: limit)
    }

    /// The events of the run in hand, and how many there are.
    private let events = UnsafeMutableBufferPointer<ArrivedEvent>.allocate(capacity: 64)
    @exclusivity(unchecked) private var count = 0
    /// How many events the next run has at most: fewer after a run was cut short, so that the same events are not
    /// decoded over and over.
    @exclusivity(unchecked) private var most = 64
    /// How many events of the run are in hand or done with.
    @exclusivity(unchecked) private var taken = 0
    /// Where the run began, counted from the front of ``buffer``: below 0 when its first frames have left the buffer.
    @exclusivity(unchecked) private var origin = 0
    /// The number of the name of the run's events.
    @exclusivity(unchecked) private(set) var runName: UInt64 = 0
    /// The source of the run's events; nil if it is the peer.
    @exclusivity(unchecked) private(set) var runSource: EventSource?
    /// The processes, other than this one and the peer, whose events may come in runs.
    @exclusivity(unchecked) private var sources = SpelledSources()

    deinit { events.deallocate() }

    // MARK: - Runs

    /// Lets the events of this source, a third process, come in runs from now on.
    func takeRuns(of source: EventSource) { _ = sources.spelled(source) }

    /// Takes the plain events (`EventHead.isPlain`) of one source and one name at the front of the buffer as a run;
    /// none of them is in hand yet.
    ///
    /// - Returns: The events; empty if the frame in front is not that of a plain event, or is not whole.
    func takeRun() -> UnsafeBufferPointer<ArrivedEvent> {
        let room = UnsafeMutableBufferPointer(rebasing: events[..<most])
        (count, runName, runSource) = EventFrame.decodeRun(
            buffer.readable,
            with: decoder,
            others: sources,
            into: room
        )
        (taken, origin) = (0, 0)
        return UnsafeBufferPointer(rebasing: events[..<count])
    }

    /// Cuts the run to its first `count` events.
    func shorten(to count: Int) {
        most = count < self.count ? max(count, 1) : min(most * 2, events.count)
        self.count = count
    }

    /// Whether the run has events that are not in hand yet.
    var hasRest: Bool { taken < count }

    /// The last event of the run that was taken in hand.
    var inHand: ArrivedEvent { events[taken - 1] }

    /// The size in bytes of the frames of those events that are not in hand yet.
    var restBytes: Int { events[count - 1].end - inHand.end }

    /// Takes the run's next event in hand, and returns its place, valid until the next run; nil if no event is left.
    func takeNext() -> UnsafePointer<ArrivedEvent>? {
        guard taken < count, let first = events.baseAddress else { return nil }
        let event = UnsafePointer(first + taken)
        taken &+= 1
        length = origin &+ event.pointee.end
        return event
    }

    /// Leaves out the run's events that are not in hand yet: they count as done with.
    func skipRest() { while takeNext() != nil {} }

    @inline(__always)
    func payload(of event: UnsafePointer<ArrivedEvent>) -> UnsafeRawBufferPointer {
        let start = origin &+ event.pointee.start
        return UnsafeRawBufferPointer(
            rebasing: buffer.readable[start &+ event.pointee.payloadOffset..<start &+ event.pointee.frameLength]
        )
    }

    // MARK: - Frames

    /// The next whole frame, which stays where it is until ``finishFrame()``; nil if more has to be read first.
    func next() throws(FrameError) -> UnsafeRawBufferPointer? {
        switch try decoder.next(in: buffer.readable) {
        case .needsBytes(let total):
            buffer.makeRoom(for: total)
            return nil
        case .frame(let length):
            self.length = length
            return UnsafeRawBufferPointer(rebasing: buffer.readable[..<length])
        }
    }

    /// Notes the progress of the unfinished frame before the next read, and returns when it last made progress; 0 if no
    /// frame is unfinished.
    ///
    /// - Parameter arrived: how many bytes were in the buffer before whole frames were taken out of it.
    func frameProgress(since arrived: Int, at now: UInt64) -> UInt64 {
        let rest = buffer.readable.count
        if rest == 0 {
            progress = (0, 0)
        } else if rest != arrived || progress.at == 0 || rest - progress.bytes >= Self.leastProgress {
            progress = (rest, now)
        }
        return progress.at
    }

    /// Leaves the frame in hand, with its memory, to the thread that still handles it; the calling thread reads on.
    ///
    /// Frees the frame left before: two threads take turns, so the calling thread had that frame, and is done with it.
    func leaveFrame() {
        // What lies behind the frame in hand is the beginning of another one.
        progress = (0, 0)
        let rest = UnsafeRawBufferPointer(rebasing: buffer.readable[length...])
        var next = ReceiveBuffer()
        next.makeRoom(for: rest.count)
        next.writable.copyMemory(from: rest)
        next.wasFilled(by: rest.count)
        swap(&buffer, &next)
        left = consume next
        origin -= length
        length = 0
    }

    /// Removes the frame in hand, or the run, from the buffer.
    func finishFrame() {
        buffer.consume(length)
        (length, count, taken, runSource) = (0, 0, 0, nil)
    }
}
