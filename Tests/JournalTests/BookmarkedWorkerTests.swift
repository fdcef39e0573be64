import BridgeWorker
import DomainEvents
import EventBridge
import EventBridgeTesting
import TestSupport
import Testing

@testable import Journal

@Suite("Bookmarks between a worker and its host")
struct BookmarkedWorkerTests {
    /// Runs a host whose worker imports three numbers behind its bookmark.
    private func run(_ journal: EventJournal?, records: Bool = true, _ found: Collected<String>) async throws {
        let publisher = EventPublisher()
        try journal?.record(Colored.self, of: publisher)
        if records { try journal?.record(Counted.self, of: publisher) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("importer") { publisher in
                    found.add("\(publisher.keepsBookmarks) \(publisher.lastBookmark?.text ?? "-")")
                    let last = publisher.lastBookmark?.text.flatMap { Int($0) } ?? 0
                    for number in (last + 1)...(last + 3) {
                        try await publisher.send(Counted(number: number), bookmark: EventBookmark("\(number)"))
                    }
                    return []
                },
                InMemoryWorker("viewer", subscribes: [Counted.self]) { publisher in
                    [
                        publisher.subscribe(to: Counted.self) { counted in
                            found.add("\(counted.number) \(EventContext.current?.bookmark?.description ?? "")")
                        }
                    ]
                },
            ],
            startOrder: .inSequence
        )
        await bridge.waitUntilIdle()
        await bridge.shutdown()
    }

    @Test("The next start of a worker, in another host, gets the bookmark of the last event", .timeLimit(.minutes(2)))
    func nextHost() async throws {
        let scratch = try ScratchJournal()
        let found = Collected<String>()
        for _ in 0..<3 {
            let journal = try scratch.open()
            try await run(journal, found)
            await journal.close()
        }
        #expect(found.all.filter { $0.contains("e") } == ["true -", "true 3", "true 6"])
        // Bookmarks are between worker and host: another worker gets the events without them.
        #expect(Set(found.all.filter { !$0.contains("e") }).isSubset(of: Set((1...9).map { "\($0) " })))
        let journal = try scratch.open()
        #expect(try await journal.numbers().found == Array(1...9))
        await journal.close()
    }

    @Test("Without a journal the worker is told so, and its events come without bookmarks", .timeLimit(.minutes(2)))
    func withoutJournal() async throws {
        let found = Collected<String>()
        try await run(nil, found)
        try await run(nil, found)
        #expect(found.all.filter { $0.contains("e") } == ["false -", "false -"])
    }

    @Test("The bookmark of an event that the journal does not record is not kept", .timeLimit(.minutes(2)))
    func notRecorded() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let found = Collected<String>()
        try await run(journal, records: false, found)
        try await run(journal, records: false, found)
        #expect(found.all.filter { $0.contains("e") } == ["true -", "true -"])
        await journal.close()
    }

    @Test("A bookmark that is too long is refused before anything is sent", .timeLimit(.minutes(1)))
    func tooLong() async throws {
        let publisher = EventPublisher()
        let found = Collected<String>()
        let subscription = publisher.subscribe(to: Counted.self) { found.add("\($0.number)") }
        let long = EventBookmark([UInt8](repeating: 0, count: 257))
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.send(Counted(number: 1), bookmark: long)
        }
        #expect(error?.code == .notEncodable)
        #expect(error?.description == "Counted was not sent: its bookmark has 257 bytes; 256 are the most")
        #expect(throws: DeliveryError.self) { try publisher.publish(Counted(number: 2), bookmark: long) }
        try publisher.publish(Counted(number: 3), bookmark: EventBookmark([]))
        publisher.transaction {
            try? publisher.publish(Counted(number: 4), bookmark: EventBookmark("4"))
            #expect(found.all == ["3"])
        }
        #expect(found.all == ["3", "4"])
        withExtendedLifetime(subscription) {}
    }

    @Test("A worker that speaks in lines sends and gets bookmarks as texts", .timeLimit(.minutes(5)))
    func lines() async throws {
        let scratch = try ScratchJournal()
        for _ in 1...2 {
            let journal = try scratch.open()
            let publisher = EventPublisher()
            try journal.record(Counted.self, of: publisher)
            // The journal has an event before a handler gets it.
            let recorded = Collected<Int>()
            let subscription = publisher.subscribe(to: Counted.self) { recorded.add($0.number) }
            let bridge = try BridgeHost(
                publisher: publisher,
                workers: [
                    Self.lines(
                        #"""
                        IFS= read -r welcome <&"$EVENT_BRIDGE_FD"
                        [[ $welcome =~ \"bookmarks\":true(,\"bookmark\":\"([^\"]*)\")? ]]
                        say "{\"type\":\"Counted\",\"bookmark\":\"${BASH_REMATCH[2]}x\",\"data\":{\"number\":1,\"text\":\"\"}}"
                        """#
                    )
                ]
            )
            try await bridge.start()
            await recorded.wait { !$0.isEmpty }
            await bridge.shutdown()
            subscription.cancel()
            await journal.close()
        }
        var texts: [String?] = []
        try StoredJournal(at: scratch.path).read(after: 0, where: JournalQuery()) { step in
            if case .event(let record) = step { texts.append(record.bookmark?.text) }
            return true
        }
        // Each start adds to the bookmark of its welcome.
        #expect(texts == ["x", "xx"])
    }

    @Test("A bookmark that was not agreed on is a violation", .timeLimit(.minutes(5)))
    func notAgreed() async throws {
        let publisher = EventPublisher()
        let found = Collected<String>()
        let exits = publisher.subscribe(to: WorkerExited.self) { found.add("\($0.reason)") }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                Self.lines(#"say '{"type":"Counted","bookmark":"1","data":{"number":1,"text":""}}'"#, asks: false)
            ],
            intensity: RestartIntensity(restarts: 0, within: .seconds(1))
        )
        try? await bridge.start()
        await found.wait { !$0.isEmpty }
        #expect(found.all[0].contains("has a bookmark, but the host has not said that it keeps any"))
        await bridge.shutdown()
        withExtendedLifetime(exits) {}
    }

    /// A worker in the shell, which says its hello and that it is ready, and then runs `script`.
    private static func lines(_ script: String, asks: Bool = true) -> WorkerSpecification {
        WorkerSpecification(
            "shell",
            executable: .search("bash"),
            arguments: [
                "-c",
                #"""
                say() { printf '%s\n' "$1" >&"$EVENT_BRIDGE_FD"; }
                say "{\"bridge\":\"hello\",\"cookie\":\"$EVENT_BRIDGE_COOKIE\",\"bookmarks\":\#(asks)}"
                say '{"bridge":"ready"}'
                \#(script)
                cat <&"$EVENT_BRIDGE_FD" >/dev/null
                """#,
            ]
        )
    }
}
