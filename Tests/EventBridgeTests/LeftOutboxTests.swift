import BridgePlatform
import BridgeProtocol
import EventBridgeTesting
import EventRouting
import Locks
import TestSupport
import Testing

@testable import DomainEvents
@testable import EventBridge

private struct Noted: DomainEvent {
    let number: Int
}

private struct Unrecorded: DomainEvent {
    let number: Int
}

/// A journal that says where outboxes lie, and keeps the numbers of the events that it is given.
private final class Notebook: IdleRecorder, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var numbers: [UInt64] = []
    private var asked: (() -> Void)?
    private var checked: (() -> Void)?
    private var isClosed = false
    private let directory: String
    private let newest: UInt64?
    private let bookmark: String?
    private let lacksOld: Bool

    private struct Removed: Error {}

    /// - Parameters:
    ///   - newest: the number of the newest event that an earlier host has recorded, and whose record is still there.
    ///   - bookmark: that event's bookmark.
    ///   - lacksOld: whether `retention:` has removed older records.
    init(_ directory: String, newest: UInt64?, bookmark: String? = nil, lacksOld: Bool = false) {
        (self.directory, self.newest, self.bookmark, self.lacksOld) = (directory, newest, bookmark, lacksOld)
    }

    var all: [UInt64] { lock.withLock { numbers } }

    var outboxDirectory: String? { directory }

    /// Calls `body` when a host asks which event was recorded last.
    func whenAsked(_ body: @escaping () -> Void) { lock.withLock { asked = body } }

    /// Calls `body` once, when a host has just found that the journal is not over.
    func afterCheck(_ body: @escaping () -> Void) { lock.withLock { checked = body } }

    func close() { lock.withLock { isClosed = true } }

    var isOver: Bool {
        let (wasClosed, body) = lock.withLock {
            defer { checked = nil }
            return (isClosed, checked)
        }
        body?()
        return wasClosed
    }

    func lastRecorded(of events: [EventContext], after position: UInt64) throws -> RecordIdentity? {
        lock.withLock { asked }?()
        let found = events.last { $0.id.number == newest && $0.bookmark?.bookmark.text == bookmark }
        if let found { return RecordIdentity(found) }
        if lacksOld { throw Removed() }
        return nil
    }

    func recordAtOnce(_ payload: UnsafeRawBufferPointer, context: BorrowedContext, owed: [OwedReceiver]) -> Bool {
        lock.withLock { numbers.append(context.id.number) }
        return true
    }
}

/// The files of a host that was killed with its worker "a", and its successor.
@Suite("Outboxes of workers that were killed with their host", .timeLimit(.minutes(5)))
final class LeftOutboxTests {
    private static let stem = "00000000000000ab"
    private static let entry = OutboxRegister.Outbox(worker: "a", incarnation: 7, position: 3)
    private static let register = stem + ".host"
    private static let file = OutboxRegister.fileName(ofOutbox: 7, stem: stem)

    private let parent: TemporaryDirectory
    private let path: String
    private let files: StorageDirectory

    init() throws {
        parent = try TemporaryDirectory()
        path = parent.path + "/outboxes"
        files = try StorageDirectory(at: path, makes: true)
    }

    // MARK: - What the killed host has left

    private func write(_ bytes: [UInt8], to name: String) throws {
        let file = try files.create(name)
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
    }

    private func writeRegister(boot: String? = nil, outboxes: [OutboxRegister.Outbox] = [entry]) throws {
        let host = EventSource(origin: "host", incarnation: 5)
        try write(
            OutboxRegister.head(of: host, boot: boot ?? OperatingSystem.bootIdentity ?? "")
                + OutboxRegister.line(of: "Noted", number: 1)
                + OutboxRegister.line(of: "Unrecorded", number: 2)
                + OutboxRegister.line(of: "NotedLater", number: 3)
                + OutboxRegister.line(of: EventRefused.eventName, number: 4)
                + outboxes.flatMap { OutboxRegister.line(of: $0) },
            to: Self.register
        )
    }

    /// The frame of an event, whose sequence is also its number, unless it has the number of an imported event.
    private static func event(
        _ sequence: UInt64,
        name: UInt64 = 1,
        attempt: UntrustedNumber = 1,
        imported: UInt64? = nil,
        bookmark: String? = nil
    ) -> [UInt8] {
        var head = EventHead(
            sequence: sequence,
            id: imported.map { .other(origin: "berlin/host", incarnation: 6, number: $0) } ?? .sender(number: sequence),
            nanosecondsSinceEpoch: sequence,
            name: .number(name)
        )
        head.cause = .receiver(number: 9)
        head.attempt = attempt
        head.bookmark = bookmark.map { Array($0.utf8) }
        let number = sequence < 24 ? [UInt8(sequence)] : [0x18, UInt8(sequence)]
        return frame(head, payload: [0xA1, 0x66] + Array("number".utf8) + number)
    }

    /// An outbox of one chunk, as the wire protocol describes it.
    private static func outbox(
        of frames: [[UInt8]],
        accepted: UInt64,
        begun: UInt64? = nil,
        settled: UInt64 = 0
    ) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: OutboxLayout.headBytes + OutboxLayout.slotBytes)
        func store(_ word: UInt64, at offset: Int) {
            bytes.withUnsafeMutableBytes { $0.storeBytes(of: word, toByteOffset: offset, as: UInt64.self) }
        }
        store(OutboxLayout.mark, at: OutboxLayout.Field.mark)
        store(UInt64(OutboxLayout.headBytes), at: OutboxLayout.Field.firstChunk)
        store(begun ?? accepted, at: OutboxLayout.Field.begun)
        store(accepted, at: OutboxLayout.Field.accepted)
        store(settled, at: OutboxLayout.Field.settled)
        store(UInt64(OutboxLayout.slotBytes), at: OutboxLayout.headBytes)
        let all = Array(frames.joined())
        let start = OutboxLayout.headBytes + OutboxLayout.chunkHeadBytes
        bytes.replaceSubrange(start..<(start + all.count), with: all)
        return bytes
    }

    // MARK: - The successor

    private struct Outcome {
        /// The numbers of the events that were recorded.
        let recorded: [UInt64]
        /// The identities of the events that worker "b" got, with their causes and attempts.
        let got: [String]
        let lost: [EventsLost]
        /// The names of the files that are there afterwards.
        let left: [String]
    }

    /// A worker; "b" notes the events that it gets, with their attempts and causes.
    private static func worker(
        _ name: String,
        mayImport: Bool = false,
        noting got: Collected<String>
    ) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: name == "b" ? [Noted.self] : [], mayImport: mayImport) { publisher in
            guard name == "b" else { return [] }
            return [
                publisher.subscribe(to: Noted.self) { _ in
                    guard let context = EventContext.current else { return }
                    let cause = context.cause.map { " after \($0)" } ?? ""
                    got.add("\(context.id)/\(context.attempt)\(cause)")
                }
            ]
        }
    }

    /// The names in the directory; not inlined: the optimizer of Swift 6.3.1 crashes on this call in an async function.
    @inline(never)
    private func leftNames(in directory: StorageDirectory? = nil) throws -> [String] {
        try (directory ?? files).names()
    }

    /// A publisher whose own journal records `Noted`.
    ///
    /// - Parameter names: what the journal records once the program uses types of these names.
    private func recorded(
        by notebook: Notebook,
        awaiting names: Set<EventName> = []
    ) -> (EventPublisher, Notebook, Subscription) {
        let publisher = EventPublisher()
        publisher.recording.offer(notebook, awaiting: names)
        let site = SubscriptionSite(file: #fileID, line: #line)
        return (publisher, notebook, publisher.record(Noted.self, by: notebook, at: site))
    }

    /// Starts a host beside what lies there, and ends it in order.
    private func startHost(
        newest: UInt64? = nil,
        bookmark: String? = nil,
        lacksOld: Bool = false,
        mayImport: Bool = false,
        workers: [String] = ["a", "b"],
        awaiting names: Set<EventName> = []
    ) async throws -> Outcome {
        let made = Notebook(path, newest: newest, bookmark: bookmark, lacksOld: lacksOld)
        let (publisher, notebook, recording) = recorded(by: made, awaiting: names)
        let (got, lost) = (Collected<String>(), Collected<EventsLost>())
        let losses = publisher.subscribe(to: EventsLost.self) { lost.add($0) }
        let unrecorded = publisher.subscribe(to: Unrecorded.self) { got.add("unrecorded \($0.number)") }
        let inMemory = workers.map { Self.worker($0, mayImport: mayImport && $0 == "a", noting: got) }
        let bridge = try await BridgeHost.inMemory(publisher, workers: inMemory)
        await bridge.waitUntilIdle()
        let left = try leftNames()
        await bridge.shutdown()
        withExtendedLifetime((recording, losses, unrecorded)) {}
        return Outcome(recorded: notebook.all, got: got.all, lost: lost.all, left: left)
    }

    private static func got(_ numbers: ClosedRange<Int>) -> [String] {
        numbers.map { "a-7-\($0)/2 after host-5-9" }
    }

    // MARK: - Tests

    @Test("J21: what was not recorded is recorded and delivered once, in order, and the files are removed")
    func unrecorded() async throws {
        try writeRegister()
        try write(Self.outbox(of: (1...5).map { Self.event($0) }, accepted: 5), to: Self.file)
        let outcome = try await startHost()
        #expect(outcome.recorded == [1, 2, 3, 4, 5])
        #expect(outcome.got == Self.got(1...5))
        #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
        // Nothing is left for the next host.
        #expect(try await startHost().recorded.isEmpty)
    }

    @Test("J21: what the killed host had recorded is not recorded again, nor what it received before")
    func recordedBefore() async throws {
        try writeRegister()
        // The outbox's oldest chunk begins with events that were settled long ago.
        try write(Self.outbox(of: (90...95).map { Self.event($0) }, accepted: 95), to: Self.file)
        let outcome = try await startHost(newest: 93)
        #expect(outcome.recorded == [94, 95])
        #expect(outcome.got == Self.got(94...95))
        #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
    }

    @Test("J21: no event is taken for recorded because the record of an earlier import of one identity is found")
    func importedTwice() async throws {
        func start(_ bookmarks: [String?], newest: UInt64, bookmark: String? = nil) async throws -> Outcome {
            try writeRegister()
            let frames = [
                Self.event(1, imported: 50, bookmark: bookmarks[0]), Self.event(2), Self.event(3),
                Self.event(4, imported: 50, bookmark: bookmarks[1]),
            ]
            try write(Self.outbox(of: frames, accepted: 4), to: Self.file)
            let outcome = try await startHost(newest: newest, bookmark: bookmark, mayImport: true)
            #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
            #expect(outcome.got.allSatisfy { $0.hasSuffix("/2 after host-5-9") })
            #expect(outcome.got.count == outcome.recorded.count)
            return outcome
        }
        // Without a bookmark, nothing says which import a record is of.
        #expect(try await start([nil, nil], newest: 50).recorded == [50, 2, 3, 50])
        #expect(try await start([nil, nil], newest: 3).recorded == [50])
        // A bookmark does.
        #expect(try await start(["1", "4"], newest: 50, bookmark: "1").recorded == [2, 3, 50])
        #expect(try await start(["1", "4"], newest: 50, bookmark: "4").recorded.isEmpty)
        // Nor does a bookmark that comes twice.
        #expect(try await start(["1", "1"], newest: 50, bookmark: "1").recorded == [50, 2, 3, 50])
        #expect(try await start(["1", "1"], newest: 3).recorded == [50])
    }

    @Test("J21: where no record would tell anything, unsettled imports come again, whatever the journal lacks")
    func importsAlone() async throws {
        try writeRegister()
        let frames = [Self.event(1), Self.event(2, imported: 50), Self.event(3, imported: 51)]
        try write(Self.outbox(of: frames, accepted: 3, settled: 1), to: Self.file)
        let outcome = try await startHost(lacksOld: true, mayImport: true)
        #expect(outcome.recorded == [50, 51] && outcome.got.count == 2)
        #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
    }

    @Test("J21: what the worker had seen settled does not come again, also if no record of it is left")
    func settled() async throws {
        let frames = (1...5).map { Self.event($0) }
        // The newest record that is left, if any, may be that of a settled event.
        for (settled, newest, rest) in [(3, nil, 4), (3, 2, 4), (3, 4, 5), (4, 3, 5)] as [(UInt64, UInt64?, Int)] {
            try writeRegister()
            try write(Self.outbox(of: frames, accepted: 5, settled: settled), to: Self.file)
            let outcome = try await startHost(newest: newest, lacksOld: newest != nil)
            #expect(outcome.recorded == Array(UInt64(rest)...5))
            #expect(outcome.got == Self.got(rest...5))
            #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
        }
        // Its host may not have known the name of a settled event any more.
        try writeRegister()
        let unknown = [Self.event(1), Self.event(2, name: 99), Self.event(3)]
        try write(Self.outbox(of: unknown, accepted: 3, settled: 2), to: Self.file)
        let outcome = try await startHost()
        #expect(outcome.recorded == [3] && outcome.lost.isEmpty && outcome.left.isEmpty)
    }

    @Test("J21: an outbox in which all is settled leaves nothing, whatever retention has removed from the journal")
    func allSettled() async throws {
        let cases: [(settled: UInt64, workers: [String])] = [
            (5, ["a", "b"]), (5, ["b"]), (4, ["a", "b"]), (0, ["a"]),
        ]
        for (settled, workers) in cases {
            try writeRegister()
            try write(Self.outbox(of: (1...5).map { Self.event($0) }, accepted: 5, settled: settled), to: Self.file)
            let outcome = try await startHost(lacksOld: true, workers: workers)
            #expect(outcome.recorded.isEmpty && outcome.got.isEmpty)
            // An event that is not settled may have had a record that is gone.
            #expect(outcome.lost.count == (settled == 5 ? 0 : 1))
            let unread = [Self.file + ".unread", Self.register + ".unread"].sorted()
            #expect(outcome.left == (settled == 5 ? [] : unread))
            for name in outcome.left { try files.remove(name) }
        }
    }

    @Test("J21: an outbox that says that more is settled than was accepted is damaged: it is reported and kept")
    func settlesTooMany() async throws {
        for begun: UInt64 in [1, 2] {
            try writeRegister()
            try write(Self.outbox(of: [Self.event(1)], accepted: 1, begun: begun, settled: 2), to: Self.file)
            let outcome = try await startHost()
            #expect(outcome.recorded.isEmpty && outcome.lost.count == 1)
            #expect(outcome.lost.first?.reason.contains("though event 2 is settled") == true)
            #expect(outcome.left == [Self.file + ".unread", Self.register + ".unread"].sorted())
            for name in outcome.left { try files.remove(name) }
        }
    }

    @Test("J21: in the place of events that the worker had dropped, the receivers find a gap")
    func gap() async throws {
        let dropped = GapFrame(
            sequence: 2,
            name: .number(1),
            count: 3,
            reason: 1,
            ranges: [GapFrame.Range(first: .sender(number: 20), last: 22)]
        )
        let unrecorded = GapFrame(sequence: 3, name: .number(2), count: 4, reason: 1, ranges: [])
        let frames = [Self.event(1), frame(dropped), frame(unrecorded), Self.event(4), Self.event(5)]
        // A gap before an event that the killed host had received has reached the receivers.
        for (newest, seen) in [(nil, ["1", "3 missing", "4", "5"]), (4, ["5"])] as [(UInt64?, [String])] {
            try writeRegister()
            try write(Self.outbox(of: frames, accepted: 5), to: Self.file)
            let (publisher, notebook, recording) = recorded(by: Notebook(path, newest: newest))
            let found = Collected<String>()
            let reader = InMemoryWorker("b", subscribes: [Noted.self]) { publisher in
                let items = publisher.eventsAndGaps(of: Noted.self)
                Task {
                    for await item in items {
                        switch item {
                        case .event(let event): found.add("\(event.number)")
                        case .gap(let gap): found.add("\(gap.count) missing")
                        }
                    }
                }
                return []
            }
            let workers = [Self.worker("a", noting: Collected()), reader]
            let bridge = try await BridgeHost.inMemory(publisher, workers: workers)
            await found.wait { $0.contains("5") }
            #expect(found.all == seen)
            await bridge.shutdown()
            #expect(try leftNames().isEmpty)
            withExtendedLifetime((notebook, recording)) {}
        }
    }

    @Test("J21: events that no journal records are left out, as nothing says whether they had an effect")
    func unrecordedName() async throws {
        try writeRegister()
        let frames = [Self.event(1), Self.event(2, name: 2), Self.event(3)]
        try write(Self.outbox(of: frames, accepted: 3), to: Self.file)
        let outcome = try await startHost()
        #expect(outcome.recorded == [1, 3])
        #expect(outcome.got == Self.got(1...1) + Self.got(3...3))
        #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
    }

    @Test("J21: an event whose name is recorded only from the program's first use on is not left out")
    func awaitedName() async throws {
        let frames = [Self.event(1), Self.event(2, name: 3), Self.event(3)]
        try writeRegister()
        try write(Self.outbox(of: frames, accepted: 3), to: Self.file)
        let outcome = try await startHost(awaiting: ["NotedLater"])
        #expect(outcome.recorded == [1] && outcome.got == Self.got(1...1))
        #expect(outcome.left == [Self.file + ".unread", Self.register + ".unread"].sorted())
        #expect(outcome.lost.count == 1 && outcome.lost.first?.reason.contains("records NotedLater only once") == true)
        for name in outcome.left { try files.remove(name) }
        // Neither an event that the killed host had recorded nor a settled one is missing.
        for (newest, settled) in [(2, 0), (1, 2)] as [(UInt64, UInt64)] {
            try writeRegister()
            try write(Self.outbox(of: frames, accepted: 3, settled: settled), to: Self.file)
            let outcome = try await startHost(newest: newest, awaiting: ["NotedLater"])
            #expect(outcome.recorded == [3] && outcome.got == Self.got(3...3))
            #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
        }
    }

    @Test("J21: a report's name that the journal was given is left out, as the journal never records it")
    func awaitedReport() async throws {
        try writeRegister()
        let frames = [Self.event(1), Self.event(2, name: 4), Self.event(3)]
        try write(Self.outbox(of: frames, accepted: 3), to: Self.file)
        let outcome = try await startHost(awaiting: EventName.set([EventRefused.eventName]))
        #expect(outcome.recorded == [1, 3])
        #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
    }

    @Test("J21: a name that the register lacks ends the recovery, which is reported, and the file is kept")
    func unknownName() async throws {
        try writeRegister()
        let frames = [Self.event(1), Self.event(2, name: 99), Self.event(3)]
        try write(Self.outbox(of: frames, accepted: 3), to: Self.file)
        let outcome = try await startHost()
        #expect(outcome.recorded == [1])
        #expect(outcome.got == Self.got(1...1))
        #expect(outcome.left == [Self.file + ".unread", Self.register + ".unread"].sorted())
        #expect(outcome.lost.count == 1 && outcome.lost.first?.reason.contains("the number 99") == true)
    }

    @Test("J21: each event comes with an attempt above the one that its frame says, whatever that is")
    func attempts() async throws {
        try writeRegister()
        let frames = [Self.event(1, attempt: 7), Self.event(2, attempt: .max)]
        try write(Self.outbox(of: frames, accepted: 2), to: Self.file)
        let outcome = try await startHost()
        #expect(outcome.got == ["a-7-1/8 after host-5-9", "a-7-2/\(UInt32.max) after host-5-9"])
        #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
    }

    @Test("J21: a worker that was killed while it began a frame anew at its chunk's beginning has left nothing")
    func tornAtTheBeginning() async throws {
        try writeRegister()
        let torn = [UInt8](repeating: 0xFF, count: 12) + Self.event(8).dropFirst(12)
        try write(Self.outbox(of: [torn], accepted: 8, begun: 9), to: Self.file)
        let outcome = try await startHost()
        #expect(outcome.recorded.isEmpty && outcome.lost.isEmpty && outcome.left.isEmpty)
    }

    @Test("J21: of a damaged outbox the events before the damage are recovered; the file is reported and kept")
    func damaged() async throws {
        try writeRegister()
        let frames = [Self.event(1), Self.event(2), [0, 0, 0, 3, 1, 2, 3], Self.event(4)]
        try write(Self.outbox(of: frames, accepted: 4), to: Self.file)
        let outcome = try await startHost()
        #expect(outcome.recorded == [1, 2])
        #expect(outcome.got == Self.got(1...2))
        #expect(outcome.left == [Self.file + ".unread", Self.register + ".unread"].sorted())
        let lost = try #require(outcome.lost.first)
        #expect(outcome.lost.count == 1 && lost.worker == "a" && lost.incarnation == 7 && lost.count == nil)
        #expect(lost.reason.contains("\(path)/\(Self.file).unread"))
        // No later host looks at it again: meanwhile the worker may have gone on.
        let next = try await startHost()
        #expect(next.recorded.isEmpty && next.lost.isEmpty && next.left == outcome.left)
    }

    @Test("J21: an outbox that cannot be set aside does not keep back the other outboxes of its register")
    func keepsItsName() async throws {
        let next = OutboxRegister.Outbox(worker: "a", incarnation: 8, position: 3)
        let nextFile = OutboxRegister.fileName(ofOutbox: 8, stem: Self.stem)
        try writeRegister(outboxes: [Self.entry, next])
        try write(Self.outbox(of: [Self.event(1), [0, 0, 0, 3, 1, 2, 3]], accepted: 2), to: Self.file)
        try write(Self.outbox(of: [Self.event(11)], accepted: 11), to: nextFile)
        // No file can get the name of a directory.
        let obstacle = Self.file + ".unread"
        _ = try StorageDirectory(at: path + "/" + obstacle, makes: true)
        let outcome = try await startHost()
        #expect(outcome.recorded == [1, 11])
        #expect(outcome.got == Self.got(1...1) + ["a-8-11/2 after host-5-9"])
        #expect(outcome.lost.count == 1)
        #expect(outcome.lost.first?.reason.contains("\(path)/\(Self.file) was not") == true)
        #expect(outcome.left == [Self.file, obstacle, Self.register + ".unread"].sorted())
        // Without its register, the file says nothing to the next host.
        let second = try await startHost()
        #expect(second.recorded.isEmpty && second.lost.isEmpty && second.left == outcome.left)
    }

    @Test("J21: an outbox whose worker is gone, or that is older than the machine's start, is reported and kept")
    func refused() async throws {
        let cases: [(boot: String?, settled: UInt64, workers: [String])] = [
            ("another", 0, ["a", "b"]), ("another", 1, ["a", "b"]), (nil, 0, ["b"]),
        ]
        for (boot, settled, workers) in cases {
            try writeRegister(boot: boot)
            try write(Self.outbox(of: [Self.event(1)], accepted: 1, settled: settled), to: Self.file)
            let outcome = try await startHost(workers: workers)
            #expect(outcome.recorded.isEmpty && outcome.got.isEmpty && outcome.lost.count == 1)
            #expect(outcome.left == [Self.file + ".unread", Self.register + ".unread"].sorted())
            for name in outcome.left { try files.remove(name) }
        }
    }

    @Test(
        "J21: an outbox without an event leaves nothing, unless the machine was restarted; one never made leaves nothing",
        arguments: [nil, "another"] as [String?]
    )
    func empty(boot: String?) async throws {
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        // A power cut may have taken the first page of an outbox, or the file's length, with all events.
        let cases: [[UInt8]?] = [nil, [], zeros, Self.outbox(of: [], accepted: 0)]
        for bytes in cases {
            try writeRegister(boot: boot)
            if let bytes { try write(bytes, to: Self.file) }
            let outcome = try await startHost()
            let isKept = boot != nil && bytes != nil
            #expect(outcome.recorded.isEmpty && outcome.lost.count == (isKept ? 1 : 0))
            #expect(outcome.lost.allSatisfy { $0.count == nil && $0.reason.contains("the machine was restarted") })
            #expect(outcome.left == (isKept ? [Self.file + ".unread", Self.register + ".unread"].sorted() : []))
            for name in outcome.left { try files.remove(name) }
        }
    }

    @Test("J21: the files of a host that lives are left alone")
    func living() async throws {
        try writeRegister()
        try write(Self.outbox(of: [Self.event(1)], accepted: 1), to: Self.file)
        let lock = try files.openLock(Self.register)
        #expect(try lock.tryLock())
        let outcome = try await startHost()
        #expect(outcome.recorded.isEmpty && outcome.left == [Self.register, Self.file].sorted())
        withExtendedLifetime(lock) {}
    }

    @Test("J21: a host that is released without a shutdown leaves its files at once to the next host of its process")
    func abandoned() async throws {
        let publisher = EventPublisher()
        let notebook = Notebook(path, newest: nil)
        publisher.recording.offer(notebook)
        let bridge = try await BridgeHost.inMemory(publisher, workers: [InMemoryWorker("a") { _ in [] }])
        let outboxes = bridge.core.outboxes
        _ = outboxes.make(for: "a", 8, LinkLimits())
        let made = try leftNames()
        #expect(made.contains { $0.hasSuffix(".host") })
        // While the host lives, others leave its files alone.
        #expect(try await startHost().left == made)
        bridge.abandon()
        // A start that was under way makes no file any more.
        let isKept = outboxes.make(for: "a", 9, LinkLimits()) != nil
        #expect(!isKept)
        let outcome = try await startHost()
        #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
        withExtendedLifetime((notebook, bridge)) {}
    }

    /// The only register in a directory; not inlined, like ``leftNames(in:)``.
    @inline(never)
    private func onlyRegister(in directory: StorageDirectory) throws -> OutboxRegister {
        let names = try directory.names().filter { OutboxRegister.stem(of: $0) != nil }
        let file = try directory.open(#require(names.first))
        var bytes = [UInt8](repeating: 0, count: try file.byteCount())
        _ = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
        #expect(names.count == 1)
        return try OutboxRegister(bytes)
    }

    @Test("J21: an outbox lies beside the journal that is the publisher's own at the start of the worker")
    func otherJournal() async throws {
        let publisher = EventPublisher()
        let others = try StorageDirectory(at: parent.path + "/others", makes: true)
        let (first, second) = (Notebook(path, newest: nil), Notebook(parent.path + "/others", newest: nil))
        publisher.recording.offer(first)
        let bridge = try await BridgeHost.inMemory(publisher, workers: [InMemoryWorker("a") { _ in [] }])
        let outboxes = bridge.core.outboxes
        _ = outboxes.make(for: "a", 8, LinkLimits())
        first.close()
        publisher.recording.offer(second)
        _ = outboxes.make(for: "a", 9, LinkLimits())
        // Both workers may use a name that becomes known later.
        let subscription = publisher.subscribe(to: Noted.self) { _ in }
        for (directory, incarnation) in [(files, 8), (others, 9)] as [(StorageDirectory, UInt64)] {
            let register = try onlyRegister(in: directory)
            #expect(register.outboxes.last?.incarnation == incarnation)
            #expect(!register.outboxes.contains { $0.incarnation == 17 - incarnation })
            #expect(register.names.values.count { $0 == Noted.eventName } == 1)
            outboxes.remove(incarnation)
        }
        await bridge.shutdown()
        #expect(try leftNames().isEmpty && leftNames(in: others).isEmpty)
        withExtendedLifetime((first, second, subscription)) {}
    }

    @Test("J21: a host that ends during the recovery leaves the files to the next host")
    func ending() async throws {
        let (publisher, notebook, recording) = recorded(by: Notebook(path, newest: nil))
        let bridge = try await BridgeHost.inMemory(publisher, workers: [InMemoryWorker("a") { _ in [] }])
        let core = bridge.core
        try writeRegister()
        try write(Self.outbox(of: [Self.event(1), Self.event(2)], accepted: 2), to: Self.file)
        notebook.whenAsked { core.router.closeIntake() }
        try await LeftOutboxes(at: path, beside: notebook, for: core)?.recover()
        #expect(try files.names() == [Self.register, Self.file].sorted())
        // From now on it does not begin any more.
        let before = notebook.all
        try await LeftOutboxes(at: path, beside: notebook, for: core)?.recover()
        #expect(notebook.all == before)
        await bridge.shutdown()
        withExtendedLifetime(recording) {}
        #expect(try files.names() == [Self.register, Self.file].sorted())
        let outcome = try await startHost(newest: 1)
        #expect(outcome.recorded == [2] && outcome.got == Self.got(2...2))
        #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
    }

    @Test("J21: while the journal is closed, no event is left out for a type that it has just ceased to record")
    func closing() async throws {
        let (publisher, notebook, recording) = recorded(by: Notebook(path, newest: nil))
        let bridge = try await BridgeHost.inMemory(publisher, workers: [InMemoryWorker("a") { _ in [] }])
        let lost = Collected<EventsLost>()
        let losses = publisher.subscribe(to: EventsLost.self) { lost.add($0) }
        try writeRegister()
        try write(Self.outbox(of: [Self.event(1)], accepted: 1), to: Self.file)
        // The search has looked at the event already. Now the journal closes between the two checks of one event.
        notebook.whenAsked {
            notebook.afterCheck {
                notebook.close()
                recording.cancel()
            }
        }
        try await LeftOutboxes(at: path, beside: notebook, for: bridge.core)?.recover()
        let left = try leftNames()
        #expect(left == [Self.file + ".unread", Self.register + ".unread"].sorted())
        await bridge.shutdown()
        #expect(notebook.all.isEmpty && lost.all.count == 1)
        #expect(lost.all.first?.reason.contains("the journal is closed") == true)
        withExtendedLifetime(losses) {}
    }

    @Test("J21: a shutdown during the recovery ends it between two events, and closes no worker before that")
    func shutDown() async throws {
        let (publisher, notebook, recording) = recorded(by: Notebook(path, newest: nil))
        try writeRegister()
        try write(Self.outbox(of: [Self.event(1), Self.event(2)], accepted: 2), to: Self.file)
        let workers = ["a", "b"].map { Self.worker($0, noting: Collected()) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: workers.map(\.specification),
            launcher: InMemoryLauncher(workers)
        )
        let (core, lifecycle) = (bridge.core, bridge.lifecycle)
        let (begun, closed) = (Collected<Bool>(), Collected<String>())
        let handler = publisher.subscribe(to: Noted.self) { _ in
            begun.add(true)
            waitUntil { lifecycle.lock.withLock { !lifecycle.recoveryWaiters.isEmpty } }
            if let reason = core.worker(1).peer.closedReason { closed.add(reason) }
        }
        let starting = Task { try await bridge.start() }
        await begun.wait(for: 1)
        await bridge.shutdown()
        let error = await #expect(throws: BridgeError.self) { try await starting.value }
        #expect(error?.code == .wrongState)
        #expect(notebook.all == [1] && closed.all.isEmpty)
        #expect(try leftNames() == [Self.register, Self.file].sorted())
        withExtendedLifetime((recording, handler)) {}
        let outcome = try await startHost(newest: 1)
        #expect(outcome.recorded == [2] && outcome.got == Self.got(2...2))
    }

    @Test("J21: a run that is cancelled during the recovery ends it, starts no worker, and leaves the files")
    func cancelledRun() async throws {
        let (publisher, notebook, recording) = recorded(by: Notebook(path, newest: nil))
        try writeRegister()
        try write(Self.outbox(of: [Self.event(1), Self.event(2)], accepted: 2), to: Self.file)
        let (mayRun, starts) = (Collected<Bool>(), Collected<Bool>())
        let worker = InMemoryWorker("a") { _ in
            starts.add(true)
            return []
        }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [worker.specification],
            launcher: InMemoryLauncher([worker])
        )
        let running = Task {
            await mayRun.wait(for: 1)
            try await bridge.run()
        }
        let core = bridge.core
        notebook.whenAsked {
            running.cancel()
            // The run may not have come to the place where it hears of that.
            waitUntil { core.router.hasClosedIntake }
        }
        mayRun.add(true)
        try await running.value
        #expect(starts.all.isEmpty)
        #expect(try leftNames() == [Self.register, Self.file].sorted())
        withExtendedLifetime(recording) {}
        let outcome = try await startHost(newest: 1)
        #expect(outcome.recorded == [2] && outcome.got == Self.got(2...2))
        #expect(outcome.lost.isEmpty && outcome.left.isEmpty)
    }

    @Test("J21: a file that is longer than any outbox is not read, however many chunks it says it has")
    func endless() async throws {
        try writeRegister()
        try write(Self.outbox(of: [Self.event(1)], accepted: 1), to: Self.file)
        // Zeros that take no room on the disk.
        try files.open(Self.file, forWriting: true).truncate(to: 1 << 40)
        let outcome = try await startHost()
        #expect(outcome.recorded.isEmpty && outcome.got.isEmpty)
        #expect(outcome.lost.count == 1 && outcome.lost.first?.reason.contains("\(1 << 40) bytes") == true)
        #expect(outcome.left == [Self.file + ".unread", Self.register + ".unread"].sorted())
    }

    @Test("J21: whatever bytes lie there, the host starts, and what it cannot read is reported and kept")
    func hostile() async throws {
        var random = SeededGenerator.announced()
        for round in 0..<rounds(40) {
            try writeRegister()
            var bytes = Self.outbox(of: (1...20).map { Self.event($0) }, accepted: 20)
            for _ in 0...random.below(6) {
                // Mostly in the head page and in the frames, where it matters.
                let place = random.below(3) == 0 ? random.below(56) : OutboxLayout.headBytes + random.below(900)
                bytes[place] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.below(8) == 0 { bytes.removeLast(random.below(bytes.count)) }
            try write(bytes, to: Self.file)
            let outcome = try await startHost()
            #expect(outcome.recorded.count <= 20, "round \(round): \(outcome.recorded)")
            #expect(outcome.left.isEmpty == outcome.lost.isEmpty, "round \(round): \(outcome.left)")
            for name in outcome.left { try files.remove(name) }
        }
    }

    // MARK: - The register

    @Test("A register that was cut anywhere says less, or is refused; it never says anything else")
    func registers() throws {
        let host = EventSource(origin: "höst \n", incarnation: .max)
        let outbox = OutboxRegister.Outbox(worker: "a b", incarnation: 1, position: .max)
        let whole =
            OutboxRegister.head(of: host, boot: "") + OutboxRegister.line(of: "Box\nShelved", number: 4)
            + OutboxRegister.line(of: outbox)
        let register = try OutboxRegister(whole)
        #expect(register.host == host && register.boot == "")
        #expect(register.names == [4: "Box\nShelved"] && register.outboxes == [outbox])
        for count in whole.indices {
            guard let cut = try? OutboxRegister(Array(whole[..<count])) else { continue }
            #expect(cut.host == host && cut.outboxes.isEmpty)
            #expect(cut.names.allSatisfy { $0.key == 4 && $0.value == "Box\nShelved" })
        }
        var random = SeededGenerator.announced()
        for _ in 0..<2_000 {
            var bytes = whole
            bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            _ = try? OutboxRegister(bytes)
        }
    }

    @Test("J21: while a register cannot be read, no worker is started, and nothing is set aside")
    func unreadableRegister() async throws {
        try writeRegister()
        try write(Self.outbox(of: [Self.event(1)], accepted: 1), to: Self.file)
        // Stands for an error that passes: a directory cannot be opened as a file.
        let other = "00000000000000ac.host"
        _ = try StorageDirectory(at: path + "/" + other, makes: true)
        let error = await #expect(throws: BridgeError.self) { try await self.startHost() }
        #expect(error?.code == .system && error?.description.contains(other) == true)
        #expect(try files.names() == [Self.register, Self.file, other].sorted())
        try files.rename(other, to: "elsewhere")
        let outcome = try await startHost()
        #expect(outcome.recorded == [1] && outcome.got == Self.got(1...1))
        #expect(outcome.lost.isEmpty && outcome.left == ["elsewhere"])
    }

    @Test("A register whose text is damaged is kept under another name, and the host starts")
    func brokenRegister() async throws {
        try write(Array("outboxes 1\nhosts\n".utf8), to: Self.register)
        let outcome = try await startHost()
        #expect(outcome.recorded.isEmpty && outcome.left == [Self.register + ".unread"])
    }
}
