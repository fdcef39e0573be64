import BridgePlatform
import Dispatch
import DomainEvents
import Locks
import Synchronization
import TestSupport
import Testing

@testable import Journal

@Suite("What a journal records")
struct RecordingTests {
    @Test("An event is in the journal before a handler gets it, on its thread or on a queue", .timeLimit(.minutes(1)))
    func beforeSubscribers() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        let seen = Lock()
        nonisolated(unsafe) var positions: [UInt64] = []  // guarded by `seen`
        // Subscribed before the journal: the order of subscriptions must not matter.
        let inline = publisher.subscribe(to: Counted.self) { _ in
            seen.withLock { positions.append(journal.status.lastPosition) }
        }
        let onQueue = publisher.subscribe(to: Counted.self, on: .queue(DispatchQueue(label: "q"))) { _ in
            seen.withLock { positions.append(journal.status.lastPosition) }
        }
        try journal.record(Counted.self, of: publisher)
        let receipt = try await publisher.deliver(Counted(number: 1), within: .seconds(30))
        #expect(seen.withLock { positions } == [1, 1])
        #expect(receipt.handlers == ["host": 3])
        withExtendedLifetime((inline, onQueue)) {}
        await journal.close()
    }

    @Test("Events come back with position, identity, time, cause and content", .timeLimit(.minutes(1)))
    func roundTrip() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        try journal.record(Counted.self, of: publisher)
        try journal.record(Colored.self, of: publisher)
        let effects = publisher.subscribe(to: Counted.self) { event in
            if event.number == 1 { publisher.publish(Colored(color: "red")) }
        }
        let id = try await publisher.send(Counted(number: 1, text: "größe"))
        publisher.publish(Counted(number: 2))
        await journal.close()
        withExtendedLifetime(effects) {}

        let again = try scratch.open()
        #expect(again.recovery == JournalRecovery(lastPosition: 3, wasClosed: true, tornBytes: 0, gaps: []))
        var entries: [JournalEntry<Counted>] = []
        for try await step in again.events(of: Counted.self, after: 0, follows: false) {
            guard case .event(let entry) = step else { continue }
            entries.append(entry)
        }
        #expect(entries.map(\.event) == [Counted(number: 1, text: "größe"), Counted(number: 2)])
        #expect(entries.map(\.position) == [1, 3])
        #expect(entries[0].context.id == id)
        for try await step in again.events(of: Colored.self, after: 0, follows: false) {
            guard case .event(let entry) = step else { continue }
            #expect(entry.context.cause == id && entry.position == 2)
        }
        await again.close()
    }

    @Test("A journal that is opened and closed without an event leaves no further file behind")
    func noEvents() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        for number in 0..<3 {
            for _ in 0..<3 { await (try scratch.open()).close() }
            let journal = try scratch.open()
            try journal.record(Counted.self, of: publisher)
            publisher.publish(Counted(number: number))
            await journal.close()
        }
        #expect(try scratch.segments.count == 3)
        let journal = try scratch.open()
        #expect(try await journal.numbers() == ([0, 1, 2], 0))
        await journal.close()
    }

    @Test("A publisher's types that are not recorded are not touched, and a closed journal records no more")
    func others() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        try journal.record(Counted.self, of: publisher)
        publisher.publish(Colored(color: "red"))
        publisher.publish(Counted(number: 1))
        #expect(journal.status.lastPosition == 1)
        #expect(!publisher.isWanted("Colored"))
        #expect(publisher.isWanted("Counted"))
        await journal.close()
        publisher.publish(Counted(number: 2))
        #expect(journal.status.lastPosition == 1)
        #expect(!publisher.isWanted("Counted"))
    }

    /// Looks at a journal when the interest in a name may have changed, as a bridge does.
    private final class Witness: InterestObserver {
        let seen = Collected<[Bool]>()
        private let look: @Sendable (_ name: String) -> [Bool]

        init(_ look: @escaping @Sendable (_ name: String) -> [Bool]) { self.look = look }

        var isBridge: Bool { false }

        func interestMayHaveChanged(in name: String) { seen.add(look(name)) }

        func channelWasMade(_ channel: AnyEventChannel) {}
    }

    @Test("A journal says that it is over before it ceases to record, and takes what it still records")
    func ceasing() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        try journal.record(Colored.self, of: publisher)
        try journal.record(Counted.self, of: publisher)
        let core = journal.core
        let witness = Witness { [weak publisher] name in
            if name == Colored.eventName { publisher?.publish(Counted(number: 1)) }
            return [publisher?.channel(named: name)?.isRecorded ?? true, core.isOver]
        }
        publisher.addInterestObserver(witness)
        await journal.close()
        #expect(witness.seen.all == [[false, true], [false, true]])
        #expect(journal.status.lastPosition == 1)
        publisher.removeInterestObserver(witness)
    }

    @Test("Names are recorded from when a type of that name is used, reports never")
    func byName() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        publisher.publish(Colored(color: "before"))
        journal.record(named: ["Counted", "Colored", "HandlerFailed"], of: publisher)
        publisher.publish(Colored(color: "red"))
        publisher.publish(Counted(number: 1))
        let failing = publisher.subscribe(to: Counted.self) { _ in throw JournalError(.closed, "on purpose") }
        let reports = publisher.subscribe(to: HandlerFailed.self) { _ in }
        publisher.publish(Counted(number: 2))
        withExtendedLifetime((failing, reports)) {}
        var names: [String] = []
        for try await case .event(let record) in journal.records(after: 0, follows: false) { names.append(record.name) }
        #expect(names == ["Colored", "Counted", "Counted"])
        #expect(throws: JournalError.self) { try journal.record(HandlerFailed.self, of: publisher) }
        await journal.close()
    }

    @Test("A type that is recorded twice, or by its name as well, has each event once")
    func twice() async throws {
        let scratch = try ScratchJournal()
        let (publisher, other) = (EventPublisher(), EventPublisher())
        let journal = try scratch.open()
        journal.record(named: ["Colored"], of: publisher)
        for _ in 0..<2 {
            try journal.record(Counted.self, of: publisher)
            try journal.record(Colored.self, of: publisher)
        }
        journal.record(named: ["Counted", "Colored"], of: publisher)
        try journal.record(Counted.self, of: other)
        publisher.publish(Counted(number: 1))
        publisher.publish(Colored(color: "red"))
        other.publish(Counted(number: 2))
        #expect(journal.status.lastPosition == 3)
        await journal.close()
    }

    @Test("A host learns which names the publisher's first journal records from their first use on")
    func awaitedNames() async throws {
        let (scratch, elsewhere) = (try ScratchJournal(), try ScratchJournal())
        let publisher = EventPublisher()
        let (journal, other) = (try scratch.open(), try elsewhere.open())
        func awaited() -> [String] { ["Colored", "Counted", "Gauged"].filter(publisher.recording.awaits) }
        journal.record(named: ["Colored"], of: publisher)
        other.record(named: ["Gauged"], of: publisher)
        #expect(awaited() == ["Colored"])
        journal.record(named: ["Counted"], of: publisher)
        #expect(awaited() == ["Colored", "Counted"])
        await journal.close()
        try other.record(Counted.self, of: publisher)
        #expect(awaited() == ["Gauged"])
        await other.close()
    }

    /// An event whose layout keeps the next thread that asks for it waiting, but no later one.
    private struct Gauged: LaidOutEvent {
        let number: Int

        static let stop = Lock()
        nonisolated(unsafe) static var next: (arrived: DoneFlag, baton: Baton)?  // guarded by `stop`

        static var layout: EventLayout<Self> {
            let place = stop.withLock {
                defer { next = nil }
                return next
            }
            place?.arrived.set()
            place?.baton.take()
            return EventLayout(Self.init(number:), .field("number", \.number))
        }
    }

    @Test(
        "Two threads that use a recorded name first and at once have both events recorded",
        .timeLimit(.minutes(1)),
        .serialized,
        arguments: [false, true]
    )
    func firstUseByTwoThreads(secondRecordsType: Bool) async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        journal.record(named: ["Gauged"], of: publisher)
        let (arrived, baton) = (DoneFlag(), Baton())
        Gauged.stop.withLock { Gauged.next = (arrived, baton) }
        let (first, second) = (DoneFlag(), DoneFlag())
        try PlatformThread.start(name: "first") {
            publisher.publish(Gauged(number: 1))
            first.set()
        }
        await arrived.wait()
        try PlatformThread.start(name: "second") {
            if secondRecordsType { try? journal.record(Gauged.self, of: publisher) }
            publisher.publish(Gauged(number: 2))
            second.set()
        }
        // No thread waits for code of the program that runs on another one.
        await second.wait()
        #expect(journal.status.lastPosition == 1)
        baton.handOver()
        await first.wait()
        publisher.publish(Gauged(number: 3))
        var numbers: [Int] = []
        for try await case .event(let entry) in journal.events(of: Gauged.self, after: 0, follows: false) {
            numbers.append(entry.event.number)
        }
        #expect(numbers == [2, 1, 3])
        await journal.close()
    }

    private struct Unencodable: DomainEvent {
        struct Mistake: Error {}
        func encode(to encoder: any Encoder) throws { throw Mistake() }
        init() {}
        init(from decoder: any Decoder) throws { throw Mistake() }
    }

    @Test("An event that cannot be encoded is told to its publisher as not recordable", .timeLimit(.minutes(1)))
    func unencodable() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        try journal.record(Unencodable.self, of: publisher)
        await #expect { try await publisher.deliver(Unencodable(), within: .seconds(30)) } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .notRecordable && error.description.contains("Unencodable")
        }
        await journal.close()
    }

    @Test("An event that does not fit is told to its publisher, and the next one is recorded", .timeLimit(.minutes(1)))
    func tooLarge() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        try journal.record(Counted.self, of: publisher)
        let large = Counted(number: 1, text: String(repeating: "x", count: 70_000))
        await #expect { try await publisher.deliver(large, within: .seconds(30)) } throws: { error in
            (error as? JournalError)?.code == .notRecordable
        }
        let failures = Lock()
        nonisolated(unsafe) var told: [String] = []  // guarded by `failures`
        let reports = publisher.subscribe(to: HandlerFailed.self) { failure in
            failures.withLock { told.append(failure.error) }
        }
        publisher.publish(large)
        #expect(failures.withLock { told.count } == 1)
        publisher.publish(Counted(number: 2))
        #expect(try await journal.numbers().found == [2])
        withExtendedLifetime(reports) {}
        await journal.close()
    }

    @Test("Events of several threads lie in many segments, each thread's in order", .timeLimit(.minutes(5)))
    func manyThreads() async throws {
        let scratch = try ScratchJournal()
        let publisher = EventPublisher()
        let journal = try scratch.open()
        try journal.record(Counted.self, of: publisher)
        let (threads, each) = (4, 3_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                let done = DoneFlag()
                try PlatformThread.start(name: "publisher") {
                    for number in 0..<each { publisher.publish(Counted(number: thread * each + number)) }
                    done.set()
                }
                group.addTask { await done.wait() }
            }
            try await group.waitForAll()
        }
        let (found, missing) = try await journal.numbers()
        #expect(missing == 0)
        #expect(found.count == threads * each)
        for thread in 0..<threads {
            #expect(found.filter { $0 / each == thread } == Array((thread * each)..<((thread + 1) * each)))
        }
        #expect(try scratch.segments.count > 5)
        await journal.close()
        let again = try scratch.open()
        #expect(try await again.numbers().found == found)
        await again.close()
    }

    @Test(
        "A publisher that waits for the next segment keeps other events from no subscriber",
        .timeLimit(.minutes(1))
    )
    func waitingForSegment() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage)
        await journal.waitForSpare()
        let baton = Baton()
        storage.holdFill(by: baton)
        let done = DoneFlag()
        try PlatformThread.start(name: "publisher") {
            for number in 0..<200 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
            done.set()
        }
        while journal.core.lock.withLock({ journal.core.spare != nil || journal.core.writer.hasRoom(forStride: 3_000) })
        { await Task.yield() }
        // Subscribers on enough strands to use every lock, and enough events that the thread very likely waits.
        let other = EventPublisher()
        let subscriptions = (0..<64).map { number in
            other.subscribe(to: Colored.self, on: .queue(DispatchQueue(label: "other \(number)"))) { _ in }
        }
        for _ in 0..<500 { other.publish(Colored(color: "red")) }
        withExtendedLifetime(subscriptions) {}
        baton.handOver()
        await done.wait()
        #expect(try await journal.numbers() == (Array(0..<200), 0))
        await journal.close()
    }

    @Test("Where the file system does not write in place, records are written by the system", .timeLimit(.minutes(1)))
    func withoutMapping() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        var settings = JournalCore.Settings()
        settings.segmentBytes = 64 << 10
        let journal = try EventJournal(storage, at: scratch.path, lock: nil, settings)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<2_000 { publisher.publish(Counted(number: number)) }
        #expect(try await journal.numbers().found == Array(0..<2_000))
        // As a process would find it that starts after this one was killed.
        let copy = try scratch.copied()
        let other = try copy.open()
        #expect(!other.recovery.wasClosed)
        #expect(try await other.numbers().found == Array(0..<2_000))
        await other.close()
        await journal.close()
    }
}

/// Set once, and waited for.
final class DoneFlag: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var isSet = false
    private var waiting: CheckedContinuation<Void, Never>?

    func set() {
        lock.withLock {
            isSet = true
            defer { waiting = nil }
            return waiting
        }?.resume()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isSet = lock.withLock {
                if !self.isSet { waiting = continuation }
                return self.isSet
            }
            if isSet { continuation.resume() }
        }
    }
}
