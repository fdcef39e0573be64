import CBOR
import DomainEvents

/// The frames that leave together, in this order: announcements, events, control frames.
///
/// Announcements are hello, welcome and interest. They come before the events: if an event arrives before the peer
/// knows that this side wants answers to it, the answers are lost. Control frames come behind the events: what an
/// event's handlers published has to leave before the event is acknowledged, and the goodbye comes last. Frames that
/// are queued while a batch is written leave with the next batch.
package struct WriteBatch: ~Copyable {
    private var announcements = CBORBuffer(minimumCapacity: 512)
    private var announcementsInFlight = CBORBuffer(minimumCapacity: 512)
    /// Encoded when the next batch begins, behind the announcements that wait; nil for none.
    private var changes: InterestChanges?
    private var control = CBORBuffer(minimumCapacity: 512)
    private var controlInFlight = CBORBuffer(minimumCapacity: 512)

    /// The largest frame body that the peer takes, in bytes, as it says in the handshake.
    ///
    /// No interest is larger, and no receipt because of the names in it. This side's own limit counts only for events.
    package var peerFrameBytes = LinkLimits.greatestFrameBytes

    /// Empty between two batches; filled by ``SendState/leave(in:atMost:at:)`` as well.
    var pieces: [UnsafeRawBufferPointer] = []
    private var firstPiece = 0

    package init() {}

    // MARK: - Queueing

    /// Why the peer cannot be told an interest in one message; nil if it can.
    package func problem(of whole: Interest) -> String? { problem(ofFrame: whole.bodyBytes) }

    /// Why the peer cannot be told changes of the interest, in however many messages; nil if it can.
    package func problem(ofChanges changes: Interest) -> String? { problem(ofFrame: changes.largestElementBytes) }

    private func problem(ofFrame bytes: Int) -> String? {
        guard bytes > peerFrameBytes else { return nil }
        return """
            it takes frames of at most \(peerFrameBytes) bytes, and the names of the events that are wanted from it \
            take a frame of \(bytes) bytes
            """
    }

    /// Queues a message for the next batch, and returns how many bytes of control frames wait now.
    ///
    /// Announcements do not count: a link has one hello or welcome and one whole interest, whose names are bounded.
    @discardableResult
    package mutating func queue(_ message: ControlMessage) -> Int {
        switch message {
        case .hello, .welcome, .interest: message.encode(into: announcements)
        case .receipt(let receipt): ControlMessage.receipt(receipt.fitting(into: peerFrameBytes)).encode(into: control)
        default: message.encode(into: control)
        }
        return control.count
    }

    /// Queues a host's whole interest in several messages, each of which the peer takes.
    ///
    /// A worker begins its work when the first interest has come, and sends no event that is not wanted. So the first
    /// interest wants all events, until the last one.
    package mutating func queueInParts(_ whole: Interest) {
        let everything = Interest.Name(number: 0, name: EventName.everything.text)
        queue(.interest(Interest(wanted: [everything])))
        var names = InterestChanges()
        names.add(Interest(wanted: whole.wanted.filter { $0 != everything }))
        for message in names.messages(within: peerFrameBytes) { queue(.interest(message)) }
        if !whole.wanted.contains(everything) { queue(.interest(Interest(unwanted: [everything.number]))) }
    }

    /// Queues changes of this side's interest for the next batch, which tells the peer only what differs by then.
    ///
    /// After that, the caller queues no interest as a message.
    package mutating func queue(changes: Interest) {
        var all = self.changes.take() ?? InterestChanges()
        all.add(changes)
        if !all.isEmpty { self.changes = all }
    }

    /// Queues an acknowledgement for the next batch; `incarnation` is this side's own.
    package mutating func queue(_ acknowledgement: Acknowledgement, incarnation: UInt64) {
        acknowledgement.encode(incarnation: incarnation, into: control)
    }

    /// Whether control frames wait for the next batch.
    package var isControlWaiting: Bool { !control.isEmpty }

    /// Whether all that was queued and handed out has been written.
    package var isWritten: Bool { !isUnderWay && control.isEmpty && announcements.isEmpty && changes == nil }

    // MARK: - Making a batch

    /// Begins a batch with the announcements that wait; only while no batch is under way.
    package mutating func begin() {
        if let changes = changes.take() {
            for message in changes.messages(within: peerFrameBytes) { queue(.interest(message)) }
        }
        guard !announcements.isEmpty else { return }
        swap(&announcements, &announcementsInFlight)
        pieces.append(announcementsInFlight.bytes)
    }

    /// Whether the batch carries anything, the control frames that close it included.
    package var carriesFrames: Bool { !pieces.isEmpty || !control.isEmpty }

    /// Closes the batch with the control frames that wait, and returns whether there is anything to write.
    package mutating func close() -> Bool {
        if !control.isEmpty {
            swap(&control, &controlInFlight)
            pieces.append(controlInFlight.bytes)
        }
        return isUnderWay
    }

    // MARK: - Writing it

    /// Whether something of the batch is not written yet.
    package var isUnderWay: Bool { firstPiece < pieces.count }

    /// The pieces that are not written yet.
    package var remainder: [UnsafeRawBufferPointer] { firstPiece == 0 ? pieces : Array(pieces[firstPiece...]) }

    /// Notes how many bytes of the remainder the stream has taken, and returns whether the batch ends there.
    package mutating func wasWritten(_ count: Int) -> Bool {
        var left = count
        while left > 0, isUnderWay {
            let piece = pieces[firstPiece]
            if left < piece.count {
                pieces[firstPiece] = UnsafeRawBufferPointer(rebasing: piece[left...])
                return false
            }
            left -= piece.count
            firstPiece += 1
        }
        guard !isUnderWay else { return false }
        // Nearly every batch has one piece.
        while pieces.popLast() != nil {}
        firstPiece = 0
        // A whole interest may have taken megabytes, and what follows is small.
        announcementsInFlight.removeAll(keepingCapacity: announcementsInFlight.capacity <= 64 << 10)
        controlInFlight.removeAll()
        return true
    }
}
