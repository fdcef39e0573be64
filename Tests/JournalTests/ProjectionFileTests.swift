import BridgePlatform
import DomainEvents
import Locks
import Synchronization
import Testing

@testable import Journal

@Suite("The file of a projection")
struct ProjectionFileTests {
    /// A journal, and the bytes of a file that a projection of it has saved.
    private static func saved() async throws -> (ScratchJournal, [UInt8]) {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = try ProjectionTests.publisher(journal)
        for number in 1...3 { publisher.publish(Counted(number: number)) }
        let running = try journal.project(Account(), keptIn: "\(scratch.path)/account")
        try await running.reach(3)
        try await running.close()
        await journal.close()
        return (scratch, try scratch.bytes(of: "account"))
    }

    /// Opens the projection with these bytes in its file, and returns the error or the state.
    private static func open<State: Projection>(
        _ fresh: State,
        _ scratch: ScratchJournal,
        _ journal: EventJournal,
        _ bytes: [UInt8]
    ) async throws -> Result<State, JournalError> {
        try scratch.files.remove("account")
        try bytes.withUnsafeBytes { try scratch.files.create("account").write($0, at: 0) }
        do {
            let running = try journal.project(fresh, keptIn: "\(scratch.path)/account")
            try await running.reach(3)
            defer { withExtendedLifetime(running) {} }
            let state = running.state
            try await running.close()
            return .success(state)
        } catch let error as JournalError {
            return .failure(error)
        }
    }

    @Test("J17, J18: a file with a flipped bit, or cut at any byte, is refused by name", .timeLimit(.minutes(5)))
    func damage() async throws {
        let (scratch, bytes) = try await Self.saved()
        let journal = try scratch.open()
        var damaged: [[UInt8]] = bytes.indices.map { Array(bytes[..<$0]) }
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1 << UInt8(index % 8)
            damaged.append(other)
        }
        for (index, bytes) in damaged.enumerated() {
            switch try await Self.open(Account(), scratch, journal, bytes) {
            case .success: Issue.record("case \(index) was read")
            case .failure(let error):
                #expect(error.code == .damaged || error.code == .foreign, "\(error)")
                #expect(error.description.contains("\(scratch.path)/account cannot be used (delete the file"))
            }
        }
        #expect(try await Self.open(Account(), scratch, journal, bytes).get().sum == 6)
        await journal.close()
    }

    private enum Later: Projection {
        case account(String)
        static var events: [ProjectedEvent<Later>] { [.on(Counted.self) { state, entry in state = .account("later") }] }
        static let revisionOfTest = Atomic<Int>(2)
        static var revision: Int { revisionOfTest.load(ordering: .relaxed) }
        static var projectionName: String { "Account" }
        mutating func eventsAreMissing(_ gap: JournalGap) {}
    }

    @Test(
        "J18: a lower revision is built anew; a higher one, another form, projection, journal or version is refused",
        .timeLimit(.minutes(1))
    )
    func revisions() async throws {
        let (scratch, bytes) = try await Self.saved()
        var journal = try scratch.open()
        guard case .success(.account("later")) = try await Self.open(Later.account("new"), scratch, journal, bytes)
        else {
            Issue.record("a file of a lower revision was not built anew")
            return
        }
        let later = try scratch.bytes(of: "account")
        func refusal<State: Projection>(_ state: State, _ bytes: [UInt8]) async throws -> String {
            guard case .failure(let error) = try await Self.open(state, scratch, journal, bytes) else { return "" }
            return error.description
        }
        #expect(
            try await refusal(Account(), later).hasSuffix("it is of revision 2; this program knows 1 and earlier ones")
        )
        Later.revisionOfTest.store(1, ordering: .relaxed)
        let form = try await refusal(Later.account(""), bytes)
        #expect(form.contains("its state does not decode, at the same revision: "))

        struct Other: Projection {
            static var events: [ProjectedEvent<Other>] { [.on(Counted.self) { _, _ in }] }
            mutating func eventsAreMissing(_ gap: JournalGap) {}
        }
        #expect(try await refusal(Other(), bytes).hasSuffix("it has a state of Account, expected one of Other"))
        var version = bytes
        version[8] = 2
        #expect(try await refusal(Account(), version).contains("it is of version 2 of the format"))
        #expect(
            try await refusal(Account(), Array("a text of 16 characters".utf8)).hasSuffix(
                "not the file of a projection"
            )
        )
        await journal.close()

        let other = try ScratchJournal()
        let otherJournal = try other.open()
        guard case .failure(let error) = try await Self.open(Account(), other, otherJournal, bytes) else {
            Issue.record("the file of another journal was read")
            return
        }
        #expect(error.code == .foreign)
        #expect(error.description.hasSuffix("it has a state that follows from another journal"))
        await otherJournal.close()
        journal = try scratch.open()
        await journal.close()
    }

    /// A journal as it was before three events, and beside it the file of a projection that had them.
    private static func olderCopy() async throws -> ScratchJournal {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let copy = try scratch.copied()
        let publisher = try ProjectionTests.publisher(journal)
        for number in 1...3 { publisher.publish(Counted(number: number)) }
        let running = try journal.project(Account(), keptIn: "\(scratch.path)/account")
        try await running.reach(3)
        try await running.close()
        await journal.close()
        let bytes = try scratch.bytes(of: "account")
        try bytes.withUnsafeBytes { try copy.files.create("account").write($0, at: 0) }
        return copy
    }

    @Test(
        "J13: a file that is ahead of its journal, or knows another event at its position, is refused",
        .timeLimit(.minutes(1))
    )
    func otherEvents() async throws {
        let copy = try await Self.olderCopy()
        let journal = try copy.open()
        #expect { _ = try journal.project(Account(), keptIn: "\(copy.path)/account") } throws: { error in
            (error as? JournalError)?.code == .positionAhead
        }
        let publisher = try ProjectionTests.publisher(journal)
        for number in 1...3 { publisher.publish(Counted(number: number)) }
        #expect { _ = try journal.project(Account(), keptIn: "\(copy.path)/account") } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .foreign && error.description.contains("another event at position 3")
        }
        await journal.close()
    }

    @Test(
        "J13: a file ahead of its journal is refused, too, if the journal has grown by events that are not safe yet",
        .timeLimit(.minutes(1))
    )
    func aheadOfSafeEvents() async throws {
        let copy = try await Self.olderCopy()
        let journal = try copy.open(.machine(within: .seconds(3_600)))
        let publisher = try ProjectionTests.publisher(journal)
        for number in 1...3 { publisher.publish(Counted(number: number)) }
        #expect(journal.status.safePosition == 0)
        #expect { _ = try journal.project(Account(), keptIn: "\(copy.path)/account") } throws: { error in
            (error as? JournalError)?.code == .positionAhead
        }
        await journal.close()
    }

    /// A journal with an event of ``Account`` at position 80 alone, up to a position, and how to publish into it.
    private static func foreignEvents(upTo position: Int) throws -> (ScratchJournal, EventJournal, EventPublisher) {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = try ProjectionTests.publisher(journal)
        publish(1..<80, by: publisher)
        publisher.publish(Counted(number: 80))
        publish(81..<(position + 1), by: publisher)
        return (scratch, journal, publisher)
    }

    private static func publish(_ positions: Range<Int>, by publisher: EventPublisher) {
        for _ in positions { publisher.publish(Unread()) }
    }

    /// Puts a copy of a projection's file beside a journal that reached `position`, and lets the journal grow to 110.
    private static func grown(_ copy: ScratchJournal, from position: Int, _ file: [UInt8]) async throws -> EventJournal
    {
        try file.withUnsafeBytes { try copy.files.create("account").write($0, at: 0) }
        let journal = try copy.open()
        #expect(journal.recovery.lastPosition == UInt64(position))
        let publisher = try ProjectionTests.publisher(journal)
        for number in (position + 1)...110 { publisher.publish(Counted(number: number)) }
        return journal
    }

    @Test(
        "J13: a journal that was cut behind the projection's last own event and has grown again is refused",
        .timeLimit(.minutes(1)),
        arguments: [85, 99]
    )
    func cutBehindOwnEvent(position: Int) async throws {
        let (scratch, first, publisher) = try Self.foreignEvents(upTo: position)
        var journal = first
        let copy = try scratch.copied()
        Self.publish(position..<100, by: publisher)
        let running = try journal.project(Account(), keptIn: "\(scratch.path)/account")
        try await running.reach(100)
        try await running.close()
        await journal.close()

        // Beside the journal that it is of, the file is read.
        journal = try scratch.open()
        try await journal.project(Account(), keptIn: "\(scratch.path)/account").close()
        await journal.close()

        journal = try await Self.grown(copy, from: position, try scratch.bytes(of: "account"))
        #expect { _ = try journal.project(Account(), keptIn: "\(copy.path)/account") } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .foreign && error.description.contains("another event at position 100")
        }
        await journal.close()
    }

    @Test(
        "J13: also if the file was saved behind damage, whether the journal was cut before the damage or at its begin",
        .timeLimit(.minutes(1)),
        arguments: [(85, 97), (97, 100)]
    )
    func cutBeforeGap(position: Int, told: Int) async throws {
        let (scratch, first, publisher) = try Self.foreignEvents(upTo: position)
        var journal = first
        let copy = try scratch.copied()
        Self.publish(position..<97, by: publisher)
        let offset = journal.core.lock.withLock { journal.core.state.safe.offset }
        Self.publish(97..<100, by: publisher)
        await journal.close()
        // The next segment says at which position it begins, so the damage before it has positions.
        await (try scratch.open()).close()
        let name = SegmentCatalog.fileName(of: 1)
        let broken = try scratch.bytes(of: name).count - offset
        try scratch.overwrite(name, at: offset, with: [UInt8](repeating: 0xEE, count: broken))
        journal = try scratch.open()
        let running = try journal.project(Account(), keptIn: "\(scratch.path)/account")
        try await running.reach(100)
        #expect(running.state.gaps.count == 1)
        try await running.close()
        try await journal.project(Account(), keptIn: "\(scratch.path)/account").close()
        await journal.close()

        journal = try await Self.grown(copy, from: position, try scratch.bytes(of: "account"))
        #expect { _ = try journal.project(Account(), keptIn: "\(copy.path)/account") } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .foreign && error.description.contains("event at position \(told)")
        }
        await journal.close()
    }

    @Test("One projection at a time has a file; after its end, another one gets it", .timeLimit(.minutes(1)))
    func locked() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let file = "\(scratch.path)/account"
        let running = try journal.project(Account(), keptIn: file)
        #expect { _ = try journal.project(Account(), keptIn: file) } throws: { error in
            (error as? JournalError)?.code == .inUse
        }
        try await running.close()
        try await journal.project(Account(), keptIn: file).close()
        #expect { _ = try journal.project(Account(), keptIn: "\(file)/inside") } throws: { error in
            (error as? JournalError)?.code == .system
        }
        await journal.close()
    }

    @Test(
        "A state that cannot be saved is told, leaves the file as it was, and is saved when there is room",
        .timeLimit(.minutes(1))
    )
    func fullDisk() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = try ProjectionTests.publisher(journal)
        let directory = try ScratchJournal()
        let storage = try FaultyStorage(at: directory.path)
        let saving = ProjectionSaving(positions: 1, pause: .zero)
        func project() throws -> RunningProjection<Account> {
            try journal.project(Account(), keptIn: "account", of: storage, saving: saving)
        }
        var running = try project()
        publisher.publish(Counted(number: 1))
        try await running.reach(1)
        try await running.close()
        let kept = try directory.bytes(of: "account")

        running = try project()
        storage.failNextWrites(.max)
        publisher.publish(Counted(number: 2))
        try await running.reach(2)
        await #expect { try await running.close() } throws: { ($0 as? JournalError)?.code == .full }
        #expect(try directory.bytes(of: "account") == kept)

        running = try project()
        try await running.reach(2)
        while running.saveFailure == nil { await Task.yield() }
        storage.failNextWrites(0)
        publisher.publish(Counted(number: 3))
        try await running.reach(3)
        try await running.close()
        #expect(running.saveFailure == nil)
        running = try project()
        #expect(running.position == 3)
        #expect(running.state.sum == 6)
        try await running.close()
        await journal.close()
    }

    @Test("A state that finds no room leaves nothing behind that takes room")
    func noRoom() throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let file = ProjectionFile(storage, name: "state", path: "state", lock: nil)
        storage.failNextWrites(1)
        #expect { try file.replace(with: Array(1...100)) } throws: { ($0 as? JournalError)?.code == .full }
        #expect(try storage.names().isEmpty)
    }
}
