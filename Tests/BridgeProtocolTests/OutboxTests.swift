import BridgeProtocol
import DomainEvents
import TestSupport
import Testing

/// Events whose frames repeat their own sequence, so that the bytes handed out can be checked.
///
/// A class around a value that cannot be copied, because `#expect` cannot look into such a value.
private final class Sender {
    private var outbox: Outbox
    private let source = EventSource(origin: "a", incarnation: 1)

    init(windowEvents: Int = 1 << 20, windowBytes: Int = 1 << 40) {
        var limits = LinkLimits()
        limits.windowEvents = windowEvents
        limits.windowBytes = windowBytes
        outbox = Outbox(limits: limits)
    }

    func append(
        _ length: Int = 8,
        source other: EventSource? = nil,
        number: UInt64? = nil,
        attempt: UInt32 = 1,
        isGap: Bool = false
    ) {
        let sequence = outbox.lastSequence + 1
        let memory = outbox.append(
            frameLength: length,
            source: other ?? source,
            number: number ?? sequence,
            attempt: attempt,
            isGap: isGap
        )
        memory?.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: sequence), count: length)
    }

    /// The bytes that the window lets out, in the pieces that are handed out.
    func compose(maximumBytes: Int = .max) -> [[UInt8]] {
        var pieces: [UnsafeRawBufferPointer] = []
        outbox.compose(into: &pieces, maximumBytes: maximumBytes)
        return pieces.map { Array($0) }
    }

    /// Composes and writes; returns how many events that was.
    func write(maximumBytes: Int = .max) -> UInt64 {
        let before = outbox.lastComposed
        _ = compose(maximumBytes: maximumBytes)
        outbox.composedWasWritten()
        return outbox.lastComposed - before
    }

    var lastSequence: UInt64 { outbox.lastSequence }
    var lastComposed: UInt64 { outbox.lastComposed }
    var lastWritten: UInt64 { outbox.lastWritten }
    var chargedBytes: Int { outbox.chargedBytes }
    var unhandledBytes: Int { outbox.unhandledBytes }
    var count: Int { outbox.count }
    var isEmpty: Bool { outbox.isEmpty }
    var hasWritable: Bool { outbox.hasWritable }

    func composedWasWritten() { outbox.composedWasWritten() }
    @discardableResult
    func credit(_ acknowledgement: Acknowledgement) throws(LinkViolation) -> CheckedAcknowledgement {
        try outbox.credit(acknowledgement)
    }
    func settle(_ acknowledgement: CheckedAcknowledgement) -> Int { outbox.settle(acknowledgement) }
    func refuse(_ sequence: UntrustedNumber) throws -> [UInt8]? { try outbox.refuse(sequence).map { Array($0.frame) } }
    func refusalWasTold() { outbox.refusalWasTold(settled: nil) }
    func lowestNumber(of source: EventSource) -> UInt64? { outbox.lowestNumber(of: source) }
    func grant(windowBytes: Int, windowEvents: Int) {
        outbox.grant(windowBytes: windowBytes, windowEvents: windowEvents)
    }
    func forEachUnsettled(_ body: (Outbox.Unsettled) -> Void) { outbox.forEachUnsettled(body) }

    func acknowledge(_ mark: UInt64, _ ranges: [ClosedRange<UInt64>] = []) throws -> Int {
        outbox.settle(try outbox.credit(Acknowledgement(mark: mark, ranges: ranges.map { ClosedRange($0) })))
    }
}

@Suite("What a sender keeps")
struct OutboxTests {
    @Test("events are handed out in order, as few contiguous pieces")
    func compose() {
        let sender = Sender()
        for _ in 1...3 { sender.append() }
        #expect(sender.hasWritable)
        #expect(
            sender.compose() == [
                [UInt8](repeating: 1, count: 8) + [UInt8](repeating: 2, count: 8) + [UInt8](repeating: 3, count: 8)
            ]
        )
        #expect(!sender.hasWritable)
        #expect(sender.lastComposed == 3)
        #expect(sender.lastWritten == 0)
        #expect(sender.compose().isEmpty)
        sender.composedWasWritten()
        #expect(sender.lastWritten == 3)
        #expect(sender.count == 3)
    }

    @Test("a batch holds about as much as asked for, and one event at least")
    func batches() {
        let sender = Sender()
        for _ in 1...5 { sender.append(100) }
        #expect(sender.write(maximumBytes: 1) == 1)
        #expect(sender.write(maximumBytes: 101) == 2)
        #expect(sender.write() == 2)
    }

    @Test("no more events are handed out than the window has room for")
    func windowInEvents() throws {
        let sender = Sender(windowEvents: 3)
        for _ in 1...10 { sender.append() }
        #expect(sender.write() == 3)
        #expect(!sender.hasWritable)
        #expect(try sender.acknowledge(2) == 2)
        #expect(sender.hasWritable)
        #expect(sender.write() == 2)
        #expect(try sender.acknowledge(2, [5...5]) == 1)
        #expect(sender.write() == 1)
        #expect(sender.count == 8)
    }

    @Test("no more bytes are handed out than the window has room for; an event counts for 256 at least")
    func windowInBytes() throws {
        let sender = Sender(windowBytes: 1_000)
        for length in [10, 300, 10, 300] { sender.append(length) }
        #expect(sender.chargedBytes == 256 + 300 + 256 + 300)
        #expect(sender.write() == 3)
        #expect(try sender.acknowledge(1) == 1)
        #expect(sender.write() == 1)
    }

    @Test("an event larger than the window goes alone, when nothing else is on its way")
    func largeEvent() throws {
        let sender = Sender(windowBytes: 1_000)
        for length in [10, 500_000, 10] { sender.append(length) }
        #expect(sender.write() == 1)
        #expect(try sender.acknowledge(1) == 1)
        #expect(sender.compose() == [[UInt8](repeating: 2, count: 500_000)])
        sender.composedWasWritten()
        #expect(sender.write() == 0)
        #expect(try sender.acknowledge(2) == 1)
        #expect(sender.write() == 1)
    }

    @Test("an unacknowledged event lets others pass for four windows and no further")
    func span() throws {
        let sender = Sender(windowEvents: 4)
        for _ in 1...40 { sender.append() }
        _ = sender.write()
        while sender.lastComposed < 16 {
            #expect(try sender.acknowledge(0, [2...sender.lastComposed]) > 0)
            _ = sender.write()
        }
        #expect(try sender.acknowledge(0, [2...16]) == 3)
        #expect(sender.write() == 0)
        #expect(try sender.acknowledge(1, [2...16]) == 1)
        #expect(sender.write() == 1)
        #expect(try sender.acknowledge(16) == 0)
        #expect(sender.write() == 3)
    }

    @Test("a grant replaces the window")
    func grant() {
        let sender = Sender(windowEvents: 1)
        for _ in 1...4 { sender.append() }
        #expect(sender.write() == 1)
        sender.grant(windowBytes: 1 << 20, windowEvents: 3)
        #expect(sender.write() == 2)
    }

    @Test("what is settled is let go from the oldest on")
    func release() throws {
        let sender = Sender()
        for _ in 1...6 { sender.append() }
        _ = sender.write()
        #expect(try sender.acknowledge(0, [2...3, 5...5]) == 3)
        #expect(sender.count == 6)
        #expect(try sender.acknowledge(1, [3...3]) == 1)
        #expect(sender.count == 3)
        #expect(sender.chargedBytes == 3 * 256)
        #expect(try sender.acknowledge(4, [5...5]) == 1)
        #expect(sender.count == 1)
        #expect(try sender.acknowledge(6) == 1)
        #expect(sender.isEmpty)
        #expect(sender.chargedBytes == 0)
    }

    @Test("C6: an acknowledgement says nothing twice, and a late one is ignored")
    func repetition() throws {
        let sender = Sender(windowEvents: 2)
        for _ in 1...6 { sender.append() }
        _ = sender.write()
        #expect(try sender.acknowledge(2) == 2)
        #expect(try sender.acknowledge(2) == 0)
        #expect(try sender.acknowledge(1) == 0)
        #expect(try sender.acknowledge(0, [1...2]) == 0)
        #expect(sender.write() == 2)
        #expect(sender.count == 4)
    }

    @Test("credit comes back at once, but the event is kept until it is settled")
    func creditAlone() throws {
        let sender = Sender(windowEvents: 1)
        for _ in 1...2 { sender.append() }
        _ = sender.write()
        let checked = try sender.credit(Acknowledgement(mark: 1, after: 9))
        #expect(sender.count == 2)
        #expect(sender.chargedBytes == 2 * 256)
        #expect(sender.unhandledBytes == 256)
        #expect(sender.write() == 1)
        #expect(sender.settle(checked) == 1)
        #expect(sender.count == 1)
        #expect(sender.chargedBytes == 256)
        #expect(sender.unhandledBytes == 256)
    }

    @Test("what was handed out and is not entirely written is not let go, though it is acknowledged")
    func acknowledgedBeforeWritten() throws {
        let sender = Sender()
        sender.append()
        _ = sender.compose()
        #expect(try sender.acknowledge(1) == 1)
        #expect(sender.count == 1)
        sender.composedWasWritten()
        #expect(sender.isEmpty)
    }

    @Test("C6: an acknowledgement above what was handed out is a violation that names both")
    func beyondWritten() throws {
        let sender = Sender(windowEvents: 2)
        for _ in 1...4 { sender.append() }
        _ = sender.write()
        for acknowledgement in [
            Acknowledgement(mark: 3), Acknowledgement(mark: .max), Acknowledgement(mark: 0, ranges: [2...3]),
            Acknowledgement(mark: 0, ranges: [1 ... .max]),
        ] {
            #expect(throws: LinkViolation.self) { try sender.credit(acknowledgement) }
        }
        do throws(LinkViolation) {
            try sender.credit(Acknowledgement(mark: 3))
        } catch {
            #expect(error.description == "acknowledged event 3, but 2 is the newest that was written")
        }
    }

    @Test("ranges that overlap, descend or lie below the mark are violations")
    func badRanges() {
        let sender = Sender()
        for _ in 1...9 { sender.append() }
        _ = sender.write()
        for ranges in [[2...4, 4...5], [5...6, 2...3], [1...1], [6...9, 3...3]] as [[ClosedRange<UntrustedNumber>]] {
            #expect(throws: LinkViolation.self) {
                try sender.credit(Acknowledgement(mark: 1, ranges: ranges))
            }
        }
        #expect(throws: LinkViolation.self) { try sender.credit(Acknowledgement(mark: 0, ranges: [0...1])) }
    }

    @Test("a gap cannot be refused: it is no event")
    func refusedGap() throws {
        let sender = Sender()
        sender.append()
        sender.append(isGap: true)
        _ = sender.write()
        let error = #expect(throws: LinkViolation.self) { try sender.refuse(2) }
        #expect(error?.description == "refused 2, which is a gap and no event")
    }

    @Test("a refused event gives its frame back once, and is settled with that")
    func refuse() throws {
        let sender = Sender(windowEvents: 3)
        for _ in 1...4 { sender.append() }
        _ = sender.write()
        #expect(try sender.refuse(2) == [UInt8](repeating: 2, count: 8))
        #expect(try sender.refuse(2) == nil)
        #expect(try sender.acknowledge(3) == 2)
        #expect(try sender.refuse(3) == nil)
        #expect(throws: LinkViolation.self) { _ = try sender.refuse(0) }
        #expect(throws: LinkViolation.self) { _ = try sender.refuse(4) }
        #expect(sender.write() == 1)
    }

    @Test("a refused event leaves the window with the acknowledgement that covers it, and not before")
    func refusedInWindow() throws {
        let sender = Sender(windowEvents: 2)
        for _ in 1...4 { sender.append() }
        #expect(sender.write() == 2)
        _ = try sender.refuse(1)
        sender.refusalWasTold()
        #expect(!sender.hasWritable)
        #expect(sender.write() == 0)
        // Counted once: the event is settled already.
        #expect(try sender.acknowledge(1) == 0)
        #expect(sender.write() == 1)
        #expect(try sender.acknowledge(3) == 2)
        #expect(sender.write() == 1)
        #expect(try sender.acknowledge(4) == 1)
        #expect(sender.isEmpty && sender.chargedBytes == 0)
    }

    @Test("the lowest number of a source is the lowest of those that may come again")
    func lowestNumber() throws {
        let (here, there) = (EventSource(origin: "a", incarnation: 1), EventSource(origin: "a", incarnation: 2))
        // Another object of the same source, as for an event whose frame was taken apart by itself.
        let again = EventSource(origin: "a", incarnation: 1)
        let sender = Sender()
        for (source, number) in [(here, 9), (there, 3), (again, 8), (there, 4)] as [(EventSource, UInt64)] {
            sender.append(source: source, number: number)
        }
        _ = sender.write()
        #expect(sender.lowestNumber(of: here) == 8)
        #expect(sender.lowestNumber(of: there) == 3)
        #expect(try sender.acknowledge(2, [3...3]) == 3)
        #expect(sender.lowestNumber(of: here) == nil)
        #expect(sender.lowestNumber(of: there) == 4)
        // It may become a dead letter, which may come again.
        _ = try sender.refuse(4)
        sender.refusalWasTold()
        #expect(sender.lowestNumber(of: there) == 4)
        #expect(try sender.acknowledge(4) == 0)
        #expect(sender.lowestNumber(of: there) == nil)
    }

    @Test("the unsettled are visited oldest first; what was handed out counts as an attempt")
    func unsettled() throws {
        let sender = Sender(windowEvents: 4)
        for attempt: UInt32 in [3, 1, 1, 2, 2, 1] { sender.append(attempt: attempt) }
        _ = sender.write()
        #expect(try sender.acknowledge(0, [2...2]) == 1)
        _ = try sender.refuse(3)
        var seen: [(UInt64, UInt32, UInt8?)] = []
        sender.forEachUnsettled { seen.append(($0.number, $0.attempts, $0.frame.first)) }
        #expect(seen.map(\.0) == [1, 4, 5, 6])
        #expect(seen.map(\.1) == [3, 2, 1, 0])
        #expect(seen.map(\.2) == [1, 4, 5, 6])
    }

    @Test("sources live as long as an event names them, and no longer")
    func sources() throws {
        let sender = Sender()
        weak var kept: EventSource?
        do {
            let source = EventSource(origin: "b", incarnation: 2)
            kept = source
            sender.append(source: source)
        }
        sender.append()
        _ = sender.write()
        #expect(kept != nil)
        #expect(sender.count == 2)
        #expect(try sender.acknowledge(2) == 2)
        #expect(kept == nil)
        #expect(sender.isEmpty)
    }

    @Test("a source lives no longer than its events, also if the outbox is never empty")
    func sourcesOfSteadyFlow() throws {
        let sender = Sender()
        weak var gone: EventSource?
        weak var kept: EventSource?
        do {
            let (one, two) = (EventSource(origin: "b", incarnation: 2), EventSource(origin: "b", incarnation: 3))
            (gone, kept) = (one, two)
            sender.append(source: one)
            sender.append(source: two)
            sender.append(source: one)
            sender.append(source: two)
        }
        _ = sender.write()
        #expect(try sender.acknowledge(2) == 2)
        #expect(gone != nil && kept != nil)
        #expect(try sender.acknowledge(3) == 1)
        #expect(gone == nil && kept != nil)
        #expect(!sender.isEmpty)
    }

    @Test("events of ever other sources cost no more than those of one, while the outbox is never empty")
    func manySources() throws {
        let sender = Sender()
        var sources: [UInt64: Weak] = [:]
        for number in UInt64(1)...100_000 {
            let source = EventSource(origin: "b", incarnation: number)
            sources[number] = Weak(source)
            sender.append(source: source)
            guard number.isMultiple(of: 1_000) else { continue }
            _ = sender.write()
            _ = try sender.acknowledge(number - 500)
            #expect(sources.values.count { $0.source != nil } == 500)
            sources = sources.filter { $0.value.source != nil }
        }
    }

    private struct Weak {
        weak var source: EventSource?

        init(_ source: EventSource) { self.source = source }
    }

    @Test("a burst of frames of all sizes keeps its bytes, through growth and return")
    func burst() throws {
        var random = SeededGenerator.announced()
        let sender = Sender()
        for _ in 0..<3 {
            let first = sender.lastSequence + 1
            let lengths = (0..<6_000).map {
                $0 % 997 == 0
                    ? Int.random(in: 200_000...600_000, using: &random) : Int.random(in: 1...600, using: &random)
            }
            for length in lengths { sender.append(length) }
            var all: [UInt8] = []
            while sender.hasWritable {
                for piece in sender.compose(maximumBytes: 100_000) { all += piece }
                sender.composedWasWritten()
            }
            var expected: [UInt8] = []
            for (index, length) in lengths.enumerated() {
                expected += [UInt8](repeating: UInt8(truncatingIfNeeded: first + UInt64(index)), count: length)
            }
            #expect(all == expected, "seed \(random.seed)")
            #expect(try sender.acknowledge(sender.lastSequence) == 6_000)
            #expect(sender.isEmpty)
            #expect(sender.chargedBytes == 0)
        }
    }

    @Test("a random history agrees with a naive list")
    func randomModel() throws {
        var random = SeededGenerator.announced()
        for round in 0..<12 {
            try playModel(&random, "seed \(random.seed), round \(round)")
        }
    }

    private struct ModelEvent {
        let length: Int
        var isWritten = false
        var isCredited = false
        var isSettled = false
        var charge: Int { max(length, 256) }
    }

    private func playModel(_ random: inout SeededGenerator, _ comment: Comment) throws {
        let windowEvents = Int.random(in: 1...60, using: &random)
        let windowBytes = Int.random(in: 300...30_000, using: &random)
        let sender = Sender(windowEvents: windowEvents, windowBytes: windowBytes)
        var events: [ModelEvent] = []
        var mark = 0
        for _ in 0..<500 {
            switch Int.random(in: 0...3, using: &random) {
            case 0:
                for _ in 0..<Int.random(in: 1...5, using: &random) {
                    let length =
                        Int.random(in: 0...20, using: &random) == 0 ? 40_000 : Int.random(in: 1...700, using: &random)
                    events.append(ModelEvent(length: length))
                    sender.append(length)
                }
            case 1:
                let bytes = sender.compose(maximumBytes: .max).reduce(0) { $0 + $1.count }
                sender.composedWasWritten()
                var expected = 0
                while let next = events.firstIndex(where: { !$0.isWritten }) {
                    let open = events.filter { $0.isWritten && !$0.isCredited }
                    let fits =
                        open.isEmpty
                        || (open.count < windowEvents
                            && open.reduce(0) { $0 + $1.charge } + events[next].charge <= windowBytes)
                    guard fits, next < mark + 4 * windowEvents else { break }
                    events[next].isWritten = true
                    expected += events[next].length
                }
                #expect(bytes == expected, comment)
            default:
                let written = events.count { $0.isWritten }
                guard written > 0 else { continue }
                if mark < written { mark = Int.random(in: mark...min(written, mark + 3), using: &random) }
                var ranges: [ClosedRange<UInt64>] = []
                var first = mark + 2
                while first <= written, ranges.count < 5 {
                    let last = min(written, first + Int.random(in: 0...3, using: &random))
                    ranges.append(UInt64(first)...UInt64(last))
                    first = last + Int.random(in: 2...5, using: &random)
                }
                var settled = 0
                for number in Array(1..<(UInt64(mark) + 1)) + ranges.flatMap({ Array($0) }) {
                    let index = Int(number) - 1
                    settled += events[index].isSettled ? 0 : 1
                    events[index].isSettled = true
                    events[index].isCredited = true
                }
                #expect(try sender.acknowledge(UInt64(mark), ranges) == settled, comment)
            }
            let kept = events.drop { $0.isSettled }
            #expect(sender.count == kept.count, comment)
            #expect(sender.chargedBytes == kept.reduce(0) { $0 + $1.charge }, comment)
        }
    }

    @Test("ranges that are announced again and again cost what is new in them", .timeLimit(.minutes(1)))
    func repeatedRanges() throws {
        let sender = Sender()
        let count: UInt64 = 200_000
        for _ in 1...count { sender.append() }
        #expect(sender.write() == count)
        // The first event is never handled, the others from the back: each range is announced with all events that
        // came before.
        var settled = 0
        for first in stride(from: count, to: 2, by: -10) {
            settled += try sender.acknowledge(0, [first...count])
            // A peer may begin and end where it likes.
            settled += try sender.acknowledge(0, [(first + (count - first) / 2)...count])
            settled += try sender.acknowledge(0, [])
        }
        settled += try sender.acknowledge(0, [2...count])
        #expect(settled == Int(count) - 1)
        #expect(sender.unhandledBytes == LinkLimits.minimumCharge)
        #expect(sender.count == Int(count))
        #expect(try sender.acknowledge(count) == 1)
        #expect(sender.isEmpty && sender.chargedBytes == 0 && sender.unhandledBytes == 0)
    }

    @Test("whatever is acknowledged, refused and announced anew, each event is credited and settled once")
    func randomAcknowledgements() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(40) {
            let sender = Sender(windowEvents: Int.random(in: 4...300, using: &random))
            var (mark, known, open): (UInt64, Set<UInt64>, Int) = (0, [], 0)
            for _ in 1...200 {
                for _ in 0..<Int.random(in: 0...20, using: &random) {
                    sender.append()
                    open += 1
                }
                _ = sender.write()
                guard sender.lastWritten > mark else { continue }
                // Known numbers and some new ones, in at most the allowed number of ranges.
                for _ in 0..<Int.random(in: 0...10, using: &random) {
                    let event = UInt64.random(in: (mark + 1)...sender.lastWritten, using: &random)
                    if Bool.random(using: &random), try sender.refuse(UntrustedNumber(event)) != nil {
                        known.insert(event)
                        open -= 1
                    } else {
                        known.insert(event)
                    }
                }
                while known.contains(mark + 1) { mark += 1 }
                var ranges: [ClosedRange<UInt64>] = []
                for event in known.sorted() where event > mark {
                    if let last = ranges.last, last.upperBound + 1 == event {
                        ranges[ranges.count - 1] = last.lowerBound...event
                    } else {
                        ranges.append(event...event)
                    }
                }
                open -= try sender.acknowledge(mark, ranges.filter { _ in Int.random(in: 0...9, using: &random) > 0 })
                var unsettled = 0
                sender.forEachUnsettled { _ in unsettled += 1 }
                #expect(unsettled == open)
            }
            _ = try sender.acknowledge(sender.lastWritten)
            while sender.write() > 0 { _ = try sender.acknowledge(sender.lastWritten) }
            #expect(sender.isEmpty && sender.chargedBytes == 0 && sender.unhandledBytes == 0)
        }
    }
}
