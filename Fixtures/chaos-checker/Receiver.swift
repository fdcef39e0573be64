import ChaosLedger

/// The lives of a receiver, one after the other, each read from its first record to its last.
final class Receiver {
    private struct Life {
        let ordinal: UInt64
        /// The number of the look at the folder that found it.
        let look: Int
        var segments: [UInt64]
    }

    let party: Party
    /// The number of this receiver among the receivers of a party.
    let lane: Int
    /// The known lives that are not read to their end, with their segments.
    private var lives: [Life] = []
    private var open: (ordinal: UInt64, number: UInt64, segment: HandledSegment)?
    private var position = 0
    /// The processes of all lives.
    private(set) var processes: [UInt64: Int32] = [:]

    init(_ party: Party, lane: Int) {
        self.party = party
        self.lane = lane
    }

    /// Notes a segment; segments of a life come in their order, and so do lives.
    func found(_ segment: UInt64, of ordinal: UInt64, look: Int) {
        if let index = lives.firstIndex(where: { $0.ordinal == ordinal }) {
            lives[index].segments.append(segment)
        } else {
            lives.append(Life(ordinal: ordinal, look: look, segments: [segment]))
        }
    }

    /// Reads what there is.
    ///
    /// - Parameters:
    ///   - isOver: whether all processes have ended.
    ///   - look: the number of the last look at the folder.
    ///   - body: called with each record and the life that wrote it.
    ///   - finished: called with the path of each segment that is read to its end.
    func read(
        isOver: Bool,
        look: Int,
        in folder: String,
        _ body: (HandledRecord, UInt64) -> Void,
        finished: (String) -> Void
    ) throws -> Bool {
        var hasRead = false
        while let life = lives.first {
            // This life ended before the next one began. But the look at the folder that found the next life may have
            // missed this life's last segment, so one more look is needed.
            let isFinal = isOver || (lives.count > 1 && lives[1].look < look)
            guard let number = life.segments.first else {
                guard isFinal, lives.count > 1 else { break }
                lives.removeFirst()
                continue
            }
            let path = folder + "/" + LedgerName.handled(party, lane, life.ordinal, number)
            let segment: HandledSegment
            if let open, open.ordinal == life.ordinal, open.number == number {
                segment = open.segment
            } else {
                segment = try HandledSegment(at: path)
                open = (life.ordinal, number, segment)
                position = 0
                processes[life.ordinal] = segment.process
            }
            let isWhole = readRecords(segment, isFinal: isFinal, life: life.ordinal, &hasRead, body)
            guard isWhole else { break }
            open = nil
            lives[0].segments.removeFirst()
            finished(path)
        }
        return hasRead
    }

    /// - Returns: Whether all records that the segment will ever hold were read.
    private func readRecords(
        _ segment: HandledSegment,
        isFinal: Bool,
        life: UInt64,
        _ hasRead: inout Bool,
        _ body: (HandledRecord, UInt64) -> Void
    ) -> Bool {
        let count = segment.count
        while position < count {
            let record = segment.record(position)
            // The life still runs, and may still end this event's handling.
            if record.handling == .begun, !isFinal { return false }
            position += 1
            hasRead = true
            body(record, life)
        }
        return isFinal || position == HandledSegment.capacity
    }
}
