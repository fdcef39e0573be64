import BridgePlatform
import DomainEvents
import Locks
import Testing

@testable import Journal

@Suite("What a journal's readers get")
struct ReadingTests {
    @Test("From history into the present: each event once, in order, whenever a reader begins", .timeLimit(.minutes(5)))
    func intoTheLive() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        try journal.record(Counted.self, of: publisher)
        let count = 20_000
        for number in 0..<(count / 4) { publisher.publish(Counted(number: number)) }
        try PlatformThread.start(name: "publisher") {
            for number in (count / 4)..<count { publisher.publish(Counted(number: number)) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<4 {
                group.addTask {
                    var next = reader * 1_000
                    for try await step in journal.events(of: Counted.self, after: UInt64(next)) {
                        guard case .event(let entry) = step else { throw UnexpectedGap() }
                        guard entry.event.number == next, entry.position == UInt64(next + 1) else {
                            throw UnexpectedGap()
                        }
                        next += 1
                        if next == count { break }
                    }
                    #expect(next == count)
                }
            }
            try await group.waitForAll()
        }
        await journal.close()
    }

    private struct UnexpectedGap: Error {}

    @Test(
        "A reader that waits ends when the journal is closed, and when its task is cancelled",
        .timeLimit(.minutes(1))
    )
    func ends() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        try journal.record(Counted.self, of: publisher)
        publisher.publish(Counted(number: 1))
        let begun = DoneFlag()
        let cancelled = Task {
            var count = 0
            for try await _ in journal.events(of: Counted.self, after: 0) {
                count += 1
                begun.set()
            }
            return count
        }
        await begun.wait()
        cancelled.cancel()
        #expect(try await cancelled.value == 1)
        let other = DoneFlag()
        let closed = Task {
            var count = 0
            for try await _ in journal.events(of: Counted.self, after: 0) {
                count += 1
                other.set()
            }
            return count
        }
        await other.wait()
        await journal.close()
        #expect(try await closed.value == 1)
    }

    @Test("By position, name, origin and time", .timeLimit(.minutes(1)))
    func queries() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let (box, canvas) = (EventPublisher(origin: "box"), EventPublisher(origin: "canvas"))
        for publisher in [box, canvas] {
            try journal.record(Counted.self, of: publisher)
            try journal.record(Colored.self, of: publisher)
        }
        box.publish(Counted(number: 1))
        canvas.publish(Counted(number: 2))
        canvas.publish(Colored(color: "red"))
        box.publish(Colored(color: "blue"))
        var all: [JournalRecord] = []
        for try await case .event(let record) in journal.records(after: 0, follows: false) { all.append(record) }
        #expect(all.map(\.position) == [1, 2, 3, 4])
        func positions(after position: UInt64 = 0, _ change: (inout JournalQuery) -> Void) async throws -> [UInt64] {
            var query = JournalQuery()
            change(&query)
            var found: [UInt64] = []
            for try await case .event(let record) in journal.records(after: position, where: query, follows: false) {
                found.append(record.position)
            }
            return found
        }
        #expect(try await positions(after: 2) { _ in } == [3, 4])
        #expect(try await positions { $0.names = ["Colored"] } == [3, 4])
        #expect(try await positions { $0.origin = "canvas" } == [2, 3])
        #expect(try await positions { $0.since = all[1].context.nanosecondsSinceEpoch } == [2, 3, 4])
        #expect(try await positions { $0.until = all[1].context.nanosecondsSinceEpoch } == [1])
        await journal.close()
    }

    @Test("Names and origins with the same look and other bytes are told apart", .timeLimit(.minutes(1)))
    func spellings() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        // The letter é in one scalar, and in two.
        let (one, two) = ("\u{E9}", "e\u{301}")
        for (number, spelling) in [(UInt64(1), one), (2, two)] {
            let id = EventID(origin: spelling, incarnation: 1, number: number)
            let context = EventContext(id: id, nanosecondsSinceEpoch: 1)
            _ = try journal.core.append([0xA0], name: spelling, context: context, whenSettled: nil)
        }
        func positions(_ change: (inout JournalQuery) -> Void) async throws -> [UInt64] {
            var query = JournalQuery()
            change(&query)
            var found: [UInt64] = []
            for try await case .event(let record) in journal.records(after: 0, where: query, follows: false) {
                found.append(record.position)
            }
            return found
        }
        #expect(try await positions { $0.names = [one] } == [1])
        #expect(try await positions { $0.names = [two] } == [2])
        #expect(try await positions { $0.names = [one, two] } == [1, 2])
        #expect(try await positions { $0.origin = one } == [1])
        #expect(try await positions { $0.origin = two } == [2])
        await journal.close()
    }

    @Test("A record has the cause and the root of its event, in whichever form the event came", .timeLimit(.minutes(1)))
    func causes() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let (own, other) = (EventSource(origin: "a", incarnation: 1), EventSource(origin: "b", incarnation: 2))
        let ids: [EventID?] = [nil, EventID(source: own, number: 1), EventID(source: other, number: 2)]
        // Each kind comes several times, as only events that are like those before them take the short way.
        let cases = ids.flatMap { cause in
            ids.flatMap { root in Array(repeating: (cause: cause, root: root), count: 6) }
        }
        let line = JournalLine("Counted", of: journal.core)
        for (number, (cause, root)) in zip(UInt64(10)..., cases) {
            func borrowed(_ id: EventID?) -> BorrowedID? {
                id.map { BorrowedID(source: .passUnretained($0.source), number: $0.number) }
            }
            let context = BorrowedContext(
                source: .passUnretained(own),
                number: number,
                nanosecondsSinceEpoch: 1,
                cause: borrowed(cause),
                root: borrowed(root)
            )
            let isRecorded = withUnsafeTemporaryAllocation(byteCount: 100, alignment: 1) { payload in
                payload.initializeMemory(as: UInt8.self, repeating: 0xF6)
                return line.recordAtOnce(UnsafeRawBufferPointer(payload), context: context, owed: [])
            }
            #expect(isRecorded)
        }
        withExtendedLifetime((own, other, ids)) {}
        var found: [EventContext] = []
        for try await case .event(let record) in journal.records(after: 0, follows: false) {
            found.append(record.context)
        }
        #expect(found.map(\.cause) == cases.map(\.cause))
        let roots = zip(found, cases).map { context, causes in causes.root ?? causes.cause ?? context.id }
        #expect(found.map(\.root) == roots)
        await journal.close()
    }

    private static func isRecorded(_ context: EventContext, _ line: JournalLine) -> Bool {
        let payload: [UInt8] = [0xF6]
        return payload.withUnsafeBytes { payload in
            context.withBorrowed { line.recordAtOnce(payload, context: $0, owed: []) }
        }
    }

    @Test("An attempt, a trace and a bookmark are in the record also behind events without", .timeLimit(.minutes(1)))
    func unlikeEvents() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let line = JournalLine("Counted", of: journal.core)
        let source = EventSource(origin: "a", incarnation: 1)
        let trace = Traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        for number in UInt64(1)...9 {
            let context = EventContext(
                id: EventID(source: source, number: number),
                nanosecondsSinceEpoch: 1,
                attempt: number == 7 ? 2 : 1,
                traceparent: number == 8 ? trace : nil,
                bookmark: number == 9 ? WorkerBookmark(EventBookmark("mark"), of: "a") : nil
            )
            #expect(Self.isRecorded(context, line))
        }
        var found: [EventContext] = []
        for try await case .event(let record) in journal.records(after: 0, follows: false) {
            found.append(record.context)
        }
        #expect(found.map(\.attempt) == [1, 1, 1, 1, 1, 1, 2, 1, 1])
        #expect(found.map { $0.traceparent != nil } == (1...9).map { $0 == 8 })
        #expect(journal.bookmark(ofWorker: "a") == EventBookmark("mark"))
        await journal.close()
    }

    @Test("J12: a wall clock that is set back a year changes no order and no position", .timeLimit(.minutes(1)))
    func clockSetBack() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        let year: UInt64 = 365 * 24 * 3_600 * 1_000_000_000
        for number in 1...3 {
            let context = EventContext(
                id: EventID(origin: "host", incarnation: 1, number: UInt64(number)),
                nanosecondsSinceEpoch: 50 * year - UInt64(number) * year
            )
            _ = publisher.channel(of: Counted.self).deliverIncoming(
                payload: nil,
                { Counted(number: number) },
                context: context,
                from: publisher,
                passOn: { _ in true },
                completion: { _ in NoCompletion() }
            )
        }
        #expect(try await journal.numbers().found == [1, 2, 3])
        var query = JournalQuery()
        query.since = 48 * year
        var found: [UInt64] = []
        for try await case .event(let record) in journal.records(after: 0, where: query, follows: false) {
            found.append(record.position)
        }
        #expect(found == [1, 2])
        await journal.close()
    }

    private final class NoCompletion: HandlingCompletion {
        func handlersReturned(failure: ThrownError?) {}
    }

    @Test("J13: a reader that is ahead of the journal is told both positions", .timeLimit(.minutes(1)))
    func ahead() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        publisher.publish(Counted(number: 1))
        await #expect {
            for try await _ in journal.events(of: Counted.self, after: 9, follows: false) {}
        } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .positionAhead && error.description.contains("position 1,")
                && error.description.contains("position 9:")
        }
        await journal.close()
    }

    @Test(
        "A reader that asks for what follows an event that is not safe yet waits for it, and is not ahead",
        .timeLimit(.minutes(1))
    )
    func behindUnsafe() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage, .machine(within: .seconds(3_600)))
        publisher.publish(Counted(number: 1))
        #expect(try await journal.numbers(after: 1) == ([], 0))
        publisher.publish(Counted(number: 2))
        try await journal.synchronize()
        #expect(try await journal.numbers(after: 1) == ([2], 0))
        await journal.close()
    }

    @Test(
        "A reader that follows gets what was recorded before the journal was closed, and then its end",
        .timeLimit(.minutes(1))
    )
    func closing() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage, .machine(within: .seconds(3_600)))
        await journal.waitForSpare()
        let baton = Baton()
        storage.holdSynchronization(by: baton)
        publisher.publish(Counted(number: 1))
        let closing = Task { await journal.close() }
        while journal.isOpen { await Task.yield() }
        // The reader has found that it may not read anything yet.
        storage.onNextOpening { baton.handOver() }
        var iterator = journal.events(of: Counted.self, after: 0).makeAsyncIterator()
        guard case .event(let entry) = try await iterator.next() else {
            Issue.record("no event")
            return await closing.value
        }
        #expect(entry.event.number == 1)
        #expect(try await iterator.next() == nil)
        await closing.value
    }

    @Test("A reader that follows is told of a failure that closed the journal", .timeLimit(.minutes(1)))
    func failure() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage, .machine(within: .seconds(3_600)))
        try await publisher.deliver(Counted(number: 1), within: .seconds(60))
        await journal.waitForSpare()
        storage.failSynchronizations(1)
        var iterator = journal.events(of: Counted.self, after: 0).makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        publisher.publish(Counted(number: 2))
        await #expect(throws: JournalError.self) { try await journal.synchronize() }
        await #expect { _ = try await iterator.next() } throws: { ($0 as? JournalError)?.code == .system }
        await journal.close()
    }

    @Test("J15: a reader that retention has overtaken is told how many events are gone", .timeLimit(.minutes(2)))
    func overtaken() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open(retention: JournalRetention(bytes: 4 * 64 << 10))
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        var iterator = journal.events(of: Counted.self, after: 0).makeAsyncIterator()
        let text = String(repeating: "x", count: 400)
        publisher.publish(Counted(number: 0, text: text))
        guard case .event(let first) = try await iterator.next() else {
            Issue.record("no first event")
            return
        }
        #expect(first.position == 1)
        for number in 1..<5_000 { publisher.publish(Counted(number: number, text: text)) }
        var (found, missing): ([Int], UInt64) = ([0], 0)
        var gaps: [JournalGap.Reason] = []
        while found.last != 4_999, let step = try await iterator.next() {
            switch step {
            case .event(let entry): found.append(entry.event.number)
            case .gap(let gap):
                #expect(gap.positions?.lowerBound == UInt64(found.count) + missing + 1)
                missing += gap.count
                gaps.append(gap.reason)
            }
        }
        #expect(found.last == 4_999)
        #expect(UInt64(found.count) + missing == 5_000)
        #expect(missing > 1_000)
        #expect(gaps.contains(.removed))
        #expect(found == found.sorted())
        #expect(try scratch.segments.count <= 5)
        await journal.close()
    }

    @Test("J16: an event that is no longer of the type is told, and the next one is read", .timeLimit(.minutes(1)))
    func undecodable() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        publisher.publish(Counted(number: 1))
        _ = try journal.core.append([0x61, 0x78], name: "Counted", context: .of(7), whenSettled: nil)
        publisher.publish(Counted(number: 3))
        let (found, missing) = try await journal.numbers()
        #expect(found == [1, 3])
        #expect(missing == 1)
        await journal.close()
    }
}

extension EventContext {
    static func of(_ number: UInt64) -> EventContext {
        EventContext(id: EventID(origin: "host", incarnation: 1, number: number), nanosecondsSinceEpoch: 1)
    }
}
