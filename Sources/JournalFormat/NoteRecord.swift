package import DomainEvents

/// A record that says what became of events before it.
///
/// Long texts are shortened and long lists are cut, so that every note fits into a segment. At worst, what a note
/// leaves out makes an event come again.
package struct NoteRecord: ~Copyable {
    private let kind: RecordLayout.Kind
    private let name: String
    /// The source of the events, with a shortened origin.
    private let source: EventSource
    /// The number of the event; 0 if the note is about several events, or about none.
    private let number: UInt64
    private let attempt: Int
    private let time: UInt64
    /// The shortened name of the receiver's pool, empty if it has none; nil if the note names no receiver.
    private let pool: String?
    /// The numbers of the events in a note of settled events; empty in a note of any other kind.
    private let ranges: ArraySlice<ClosedRange<UInt64>>
    /// What follows the pool; empty in a note of settled events, where `ranges` follow instead.
    private let rest: [UInt8]

    /// How many bytes a text in a note has at most.
    package static let longestText = 4_096
    /// How many reasons the note of a dead letter has at most; the oldest are left out.
    package static let mostReasons = 64
    /// How many bytes these reasons have together at most, so that every note has room in the smallest segment.
    package static let mostReasonBytes = 24 << 10
    /// The highest number of a dead letter that a reader accepts, so that the numbers of later letters cannot overflow.
    package static let highestLetter: UInt64 = 1 << 62

    package init(_ note: CustodyNote) {
        let receiver: NotedReceiver?
        let source: EventSource
        let number: UInt64
        var ranges: ArraySlice<ClosedRange<UInt64>> = []
        var rest: [UInt8] = []
        switch note {
        case .settled(let from, let settled, let by):
            receiver = by
            (kind, source, number, attempt, time) = (.settled, from, 0, 0, 0)
            ranges = settled.prefix(CustodyNote.mostRanges)
        case .strike(let id, let at, let reason):
            receiver = at
            (kind, source, number, attempt, time) = (.strike, id.source, id.number, 0, 0)
            Self.put(reason, into: &rest)
        case .letter(let letter):
            receiver = letter.receiver
            (kind, source, number) = (.letter, letter.event.source, letter.event.number)
            (attempt, time) = (letter.attempts, letter.nanosecondsSinceEpoch)
            withUnsafeBytes(of: letter.number.littleEndian) { rest.append(contentsOf: $0) }
            rest.append(Self.code(letter.cause))
            let reasons = Self.newest(letter.reasons)
            rest.append(UInt8(clamping: letter.strikes - (letter.reasons.count - reasons.count)))
            for reason in reasons { Self.put(reason, into: &rest) }
        case .letterGone(let id, let of, let isOwedAgain):
            receiver = of
            (kind, source, number, attempt, time) = (.letterGone, id.source, id.number, 0, 0)
            rest.append(isOwedAgain ? 1 : 0)
        case .hostStarted(let incarnation):
            receiver = nil
            (kind, number, attempt, time) = (.hostStarted, 0, 0, 0)
            source = EventSource(origin: "", incarnation: incarnation)
        }
        name = Self.short(receiver?.name ?? "")
        pool = receiver.map { Self.short($0.pool ?? "") }
        self.number = number
        self.source = Self.short(source)
        self.ranges = ranges
        self.rest = rest
    }

    private static func short(_ source: EventSource) -> EventSource {
        if source.origin.utf8.count <= longestText { return source }
        return EventSource(origin: short(source.origin), incarnation: source.incarnation)
    }

    private static func newest(_ reasons: [String]) -> ArraySlice<String> {
        var (first, bytes) = (reasons.endIndex, 0)
        while first > 0, reasons.endIndex - first < mostReasons {
            bytes += min(reasons[first - 1].utf8.count, longestText)
            guard bytes <= mostReasonBytes else { break }
            first -= 1
        }
        return reasons[first...]
    }

    private static func short(_ text: String) -> String {
        if text.utf8.count <= longestText { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: longestText)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }

    private static func put(_ text: String, into rest: inout [UInt8]) {
        let text = short(text)
        withUnsafeBytes(of: UInt16(clamping: text.utf8.count).littleEndian) { rest.append(contentsOf: $0) }
        rest.append(contentsOf: text.utf8)
    }

    private static func code(_ cause: EventDeadLettered.Cause) -> UInt8 {
        switch cause {
        case .refused: 1
        case .crashes: 2
        case .workerUnavailable: 3
        }
    }

    private static func cause(_ code: UInt8) -> EventDeadLettered.Cause? {
        switch code {
        case 1: .refused
        case 2: .crashes
        case 3: .workerUnavailable
        default: nil
        }
    }

    // MARK: - Writing

    /// The length of the record in bytes.
    package var byteCount: Int {
        var count = RecordLayout.headBytes + name.utf8.count + source.origin.utf8.count + rest.count
        if let pool { count += RecordLayout.textHeadBytes + pool.utf8.count }
        return count + ranges.count * RecordLayout.rangeBytes
    }

    /// The distance from the beginning of this record to the next record, in bytes.
    package var stride: Int { RecordLayout.next(after: byteCount) }

    /// Writes the whole record except the length; returns the value of the length field, which the caller stores last.
    ///
    /// - Parameters:
    ///   - position: the position of the event before this record.
    ///   - target: the record's ``byteCount`` bytes.
    package func write(
        position: UInt64,
        into target: UnsafeMutableRawBufferPointer,
        seed: UInt32,
        at offset: Int
    ) -> UInt32 {
        var writer = RecordWriter(
            kind,
            name: name,
            source: .passUnretained(source),
            number: number,
            attempt: UInt64(clamping: attempt),
            position: position,
            time: time,
            into: target
        )
        if let pool { writer.append(counted: pool) }
        for range in ranges { writer.append(range) }
        if !rest.isEmpty { rest.withUnsafeBytes { writer.append($0) } }
        return RecordLayout.sealed(target, seed: seed, at: offset)
    }

    // MARK: - Reading

    /// What a record says; nil if the record is no note, or its parts do not fit.
    static func note(in record: RecordView) -> CustodyNote? {
        var body = NoteBody(bytes: record.body)
        let source = EventSource(origin: record.origin, incarnation: record.incarnation)
        let id = EventID(source: source, number: record.number)
        if record.kind == .hostStarted { return .hostStarted(incarnation: record.incarnation) }
        guard record.kind.isNote, let pool = body.text() else { return nil }
        let receiver = NotedReceiver(name: record.name, pool: pool.isEmpty ? nil : pool)
        switch record.kind {
        case .settled:
            var ranges: [ClosedRange<UInt64>] = []
            while !body.isEmpty {
                guard let first = body.number(), let last = body.number(), first <= last else { return nil }
                ranges.append(first...last)
            }
            return .settled(source: source, ranges: ranges, by: receiver)
        case .strike:
            guard let reason = body.text(), body.isEmpty else { return nil }
            return .strike(id, at: receiver, reason: reason)
        case .letter:
            guard let number = body.number(), number <= highestLetter, let code = body.byte(),
                let cause = cause(code), let strikes = body.byte()
            else { return nil }
            var reasons: [String] = []
            while !body.isEmpty {
                guard let reason = body.text() else { return nil }
                reasons.append(reason)
            }
            guard strikes <= reasons.count else { return nil }
            return .letter(
                NotedLetter(
                    event: id,
                    receiver: receiver,
                    number: number,
                    cause: cause,
                    reasons: reasons,
                    strikes: Int(strikes),
                    attempts: record.attempt,
                    nanosecondsSinceEpoch: record.time
                )
            )
        case .letterGone:
            guard let isOwedAgain = body.byte(), isOwedAgain <= 1, body.isEmpty else { return nil }
            return .letterGone(id, of: receiver, isOwedAgain: isOwedAgain == 1)
        case .hostStarted, .event, .end, .bookmarks: return nil
        }
    }
}

/// The parts of a note that have not been read yet.
private struct NoteBody {
    var bytes: UnsafeRawBufferPointer

    var isEmpty: Bool { bytes.isEmpty }

    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard bytes.count >= count else { return nil }
        defer { bytes = UnsafeRawBufferPointer(rebasing: bytes[count...]) }
        return UnsafeRawBufferPointer(rebasing: bytes[..<count])
    }

    mutating func byte() -> UInt8? { take(1)?[0] }

    mutating func number() -> UInt64? { take(8)?.number(at: 0) }

    mutating func text() -> String? {
        guard let count = take(2)?.number(at: 0, as: UInt16.self), let text = take(Int(count)) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}

extension RecordView {
    /// What the record says of events before it; nil if it is no note, or its parts do not fit.
    package var note: CustodyNote? { NoteRecord.note(in: self) }
}
