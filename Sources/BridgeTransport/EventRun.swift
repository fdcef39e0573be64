package import BridgeProtocol
package import CBOR
package import DomainEvents

/// Events of one source and one name that have arrived together: the one in hand, and those behind it in the buffer.
///
/// A run lasts for one call on the reading thread. A thread that is held up in a slow handler keeps the event that it
/// has in hand. The thread that reads on takes over the events behind that one, in a run of its own.
package struct EventRun {
    package let name: WireName
    /// Whether the events are the peer's own.
    package let isOfPeer: Bool
    /// Whether the publisher of the event waits for a receipt; then the run has no other event.
    package let wantsReceipt: Bool
    /// Whether the event has a bookmark; then the run has no other event.
    package let hasBookmark: Bool
    /// Lends the memory in which the payload lies; nil if a decoded value has to copy its bytes.
    ///
    /// The run's maker holds the lender, so the reference is not counted.
    package let lender: Unmanaged<LentBytes>?
    /// Where the inline handlers of the events run.
    package let strand: LinkStrand

    /// The sequence of the event in hand.
    package private(set) var sequence: UInt64 = 0
    /// The payload of the event in hand; valid while it is in hand.
    package private(set) var payload = UnsafeRawBufferPointer(start: nil, count: 0)
    /// What is known of the event in hand; valid while it is in hand.
    package private(set) var context: BorrowedContext

    private let source: Unmanaged<EventSource>
    /// The two sides of the link.
    ///
    /// A frame of this run names a cause by its number, and by which of the two sides has published it.
    private let parties: (sender: Unmanaged<EventSource>, receiver: Unmanaged<EventSource>)
    /// The reader that has the events, and that outlives the run; nil for an event with a head of its own.
    private let reader: Unmanaged<FrameReader>?
    /// The turn to read in which the run began.
    private let turn: Int

    /// Makes a run of the events that `reader` has; none of them is in hand yet.
    ///
    /// The caller keeps the sources alive as long as the run is used.
    ///
    /// - Parameters:
    ///   - peer: the side that sends the frames.
    ///   - own: this side.
    init(
        of reader: FrameReader,
        peer: Unmanaged<EventSource>,
        own: Unmanaged<EventSource>,
        strand: LinkStrand,
        turn: Int
    ) {
        name = .number(reader.runName)
        source = reader.runSource.map { .passUnretained($0) } ?? peer
        (isOfPeer, wantsReceipt, hasBookmark) = (reader.runSource == nil, false, false)
        lender = nil
        context = BorrowedContext(source: source, number: 0, nanosecondsSinceEpoch: 0, settledBelow: nil)
        parties = (peer, own)
        (self.reader, self.strand, self.turn) = (.passUnretained(reader), strand, turn)
    }

    /// Makes a run of one event, which has a head of its own, and is in hand from the beginning.
    ///
    /// - Parameters:
    ///   - sequence: the event's sequence, which was checked.
    ///   - context: has to stay in place as long as the run is used.
    ///   - lender: lends the memory of the payload; the caller holds it as long as the run is used.
    init(
        of head: borrowing EventHead,
        sequence: UInt64,
        context: UnsafePointer<EventContext>,
        payload: UnsafeRawBufferPointer,
        lender: LentBytes? = nil,
        strand: LinkStrand
    ) {
        name = head.name
        if case .sender = head.id { isOfPeer = true } else { isOfPeer = false }
        (wantsReceipt, hasBookmark) = (head.wantsReceipt, head.bookmark != nil)
        self.lender = lender.map { .passUnretained($0) }
        self.context = BorrowedContext(context)
        source = .passUnretained(context.pointee.id.source)
        parties = (source, source)
        (self.sequence, self.payload, self.strand) = (sequence, payload, strand)
        (reader, turn) = (nil, strand.turn)
    }

    /// Whether the calling thread still reads: if not, another thread has taken over the events behind the one in hand.
    package var isMine: Bool { !strand.isLost(turn) }

    /// How many bytes the frames behind the one in hand have; 0 if another thread has taken them over.
    var bytesBehind: Int { isMine ? reader?._withUnsafeGuaranteedRef { $0.restBytes } ?? 0 : 0 }

    /// Takes the next event in hand, in place of the one before; returns false if there is none for this thread.
    mutating func takeNext() -> Bool {
        guard let reader, isMine else { return false }
        let next = reader._withUnsafeGuaranteedRef { reader in
            reader.takeNext().map { (event: $0, payload: reader.payload(of: $0)) }
        }
        guard let (event, payload) = next else { return false }
        sequence = event.pointee.sequence.asWritten
        self.payload = payload
        context = BorrowedContext(
            source: source,
            number: event.pointee.number,
            nanosecondsSinceEpoch: event.pointee.nanosecondsSinceEpoch,
            settledBelow: event.pointee.settledBelow,
            cause: event.pointee.causes.cause.map(borrowed),
            root: event.pointee.causes.root.map(borrowed)
        )
        strand.eventArrived(sequence)
        return true
    }

    private func borrowed(_ id: NearID) -> BorrowedID {
        switch id {
        case .sender(let number): BorrowedID(source: parties.sender, number: number)
        case .receiver(let number): BorrowedID(source: parties.receiver, number: number)
        }
    }

    /// Gives the event in hand another context, which has to stay in place as long as ``context`` is read.
    package mutating func bears(_ context: UnsafePointer<EventContext>) { self.context = BorrowedContext(context) }

    /// Notes the event in hand as handled and takes the next one; returns false, and does neither, if there is no next
    /// one for this thread.
    package mutating func handledTakesNext() -> Bool {
        guard let reader, isMine, reader._withUnsafeGuaranteedRef({ $0.hasRest }) else { return false }
        strand.eventHandled(sequence)
        return takeNext()
    }
}
