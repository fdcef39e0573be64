import BridgePlatform
import DomainEvents
import Journal
import Testing

@testable import supervisor

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("supervisor journal")
struct JournalCommandTests {
    private struct Shelved: DomainEvent {
        let box: Int
    }

    /// A journal with events in segments of 64 KiB, and the output of commands about it.
    private final class Scratch {
        let directory: PrivateDirectory
        let path: String
        private(set) var said: [String] = []

        init() throws {
            directory = try PrivateDirectory.make(named: "journal-command-tests")
            path = directory.path
        }

        deinit {
            if let files = try? StorageDirectory(at: path, makes: false) {
                for name in (try? files.names()) ?? [] { try? files.remove(name) }
            }
            directory.remove()
        }

        func fill(_ count: Int) async throws -> EventJournal {
            let journal = try EventJournal(at: path, segmentBytes: 64 << 10)
            let publisher = EventPublisher()
            try journal.record(Shelved.self, of: publisher)
            for box in 1...count { publisher.publish(Shelved(box: box)) }
            return journal
        }

        /// - Parameter outcome: what becomes of each text that the command prints.
        func run(
            _ action: JournalOptions.Action,
            isJSON: Bool = false,
            printing outcome: PrintOutcome = .printed
        ) async throws -> ProgramStatus {
            said = []
            let command = JournalCommand(options: JournalOptions(directory: path, isJSON: isJSON, action))
            return try await command.run { text in
                said += text.split(separator: "\n").map(String.init)
                return outcome
            }
        }
    }

    private static let all = some()

    private static func some(
        after position: UInt64 = 0,
        limit: UInt64? = nil,
        event: String? = nil,
        origin: String? = nil
    ) -> JournalOptions.Action {
        .show(JournalSelection(after: position, limit: limit, event: event, origin: origin))
    }

    @Test("shows the events of a journal that is being written, by position, name and origin")
    func show() async throws {
        let scratch = try Scratch()
        let journal = try await scratch.fill(3)
        #expect(try await scratch.run(Self.all) == .success)
        #expect(scratch.said.count == 3)
        #expect(scratch.said[0].hasPrefix("1  20"))
        #expect(scratch.said[0].hasSuffix("Z  host → Shelved  {\"box\":1}"))
        #expect(try await scratch.run(Self.some(after: 1, limit: 1, event: "Shelved", origin: "host")) == .success)
        #expect(scratch.said.count == 1 && scratch.said[0].hasSuffix("{\"box\":2}"))
        #expect(try await scratch.run(Self.some(event: "Other")) == .success)
        #expect(scratch.said.isEmpty)
        #expect(try await scratch.run(Self.all, isJSON: true) == .success)
        #expect(scratch.said[2].contains("\"type\":\"Shelved\"") && scratch.said[2].contains("\"sequence\":3"))
        await journal.close()
    }

    @Test("shows no further event once the reader has gone, which is no failure, or a line cannot be printed")
    func readerGone() async throws {
        let scratch = try Scratch()
        let journal = try await scratch.fill(100)
        for isJSON in [false, true] {
            #expect(try await scratch.run(Self.all, isJSON: isJSON, printing: .readerGone) == .success)
            #expect(scratch.said.count == 1)
            #expect(try await scratch.run(Self.all, isJSON: isJSON, printing: .failed) == .output)
            #expect(scratch.said.count == 1)
        }
        await journal.close()
        // What it has found counts, with or without a reader.
        #expect(try await scratch.run(.verify, printing: .readerGone) == .success)
        let target = try Scratch()
        #expect(try await scratch.run(.salvage(into: target.path), printing: .readerGone) == .success)
        #expect(try await target.run(Self.all) == .success)
        #expect(target.said.count == 100)
    }

    @Test("lists the files with the positions of their events")
    func list() async throws {
        let scratch = try Scratch()
        let journal = try await scratch.fill(2_000)
        await journal.close()
        #expect(try await scratch.run(.list) == .success)
        #expect(scratch.said.count > 2)
        #expect(scratch.said[0].split(separator: " ").map(String.init) == ["FILE", "FIRST", "LAST", "BYTES", "BEGUN"])
        #expect(scratch.said[1].split(separator: " ").prefix(2) == ["00000000000000000001.segment", "1"])
        #expect(scratch.said.last?.split(separator: " ")[2] == "2000")
        #expect(try await scratch.run(.list, isJSON: true) == .success)
        #expect(scratch.said.last?.contains("\"last\":2000") == true)
    }

    @Test("verifies, and names the place and the count of what is missing")
    func verify() async throws {
        let scratch = try Scratch()
        let journal = try await scratch.fill(10)
        await journal.close()
        #expect(try await scratch.run(.verify) == .success)
        #expect(scratch.said == ["10 events in 1 segment; everything can be read"])
        let file = try StorageDirectory(at: scratch.path, makes: false)
            .open("00000000000000000001.segment", forWriting: true)
        try [UInt8](repeating: 0xEE, count: 8).withUnsafeBytes { try file.write($0, at: 4_096 + 16) }
        #expect(try await scratch.run(.verify) == .badInput)
        #expect(scratch.said.count == 2)
        #expect(scratch.said[0].hasPrefix("the event at position 1 is missing: "))
        #expect(scratch.said[0].hasSuffix(" bytes of 00000000000000000001.segment cannot be read, from 4096 on"))
        #expect(scratch.said[1] == "9 events in 1 segment; 1 place is damaged, 1 event is missing")
        #expect(try await scratch.run(.verify, isJSON: true) == .badInput)
        #expect(scratch.said[0].hasPrefix("{\"journal\":\"gap\",\"count\":1,\"first\":1,\"last\":1,"))
        #expect(try await scratch.run(Self.all) == .success)
        #expect(scratch.said.count == 10 && scratch.said[0].hasPrefix("(the event at position 1 is missing"))
    }

    @Test("trims whole files before a position, and not while a process has the journal open")
    func trim() async throws {
        let scratch = try Scratch()
        let journal = try await scratch.fill(2_000)
        await #expect { _ = try await scratch.run(.trim(before: 1_500)) } throws: { error in
            (error as? RunFailure)?.status == .workerUnavailable
        }
        await journal.close()
        #expect(try await scratch.run(.trim(before: 1_500)) == .success)
        #expect(scratch.said[0].contains("removed"))
        #expect(try await scratch.run(Self.some(limit: 1)) == .success)
        #expect(scratch.said.count == 2)
        #expect(scratch.said[0].hasSuffix("the journal no longer keeps them)"))
        #expect(try await scratch.run(.verify) == .success)
    }

    @Test("salvages what can be read into a new journal, and names what is missing")
    func salvage() async throws {
        let scratch = try Scratch()
        let journal = try await scratch.fill(2_000)
        await journal.close()
        let target = try Scratch()
        let file = try StorageDirectory(at: scratch.path, makes: false)
            .open("00000000000000000001.segment", forWriting: true)
        try [UInt8](repeating: 0xEE, count: 8).withUnsafeBytes { try file.write($0, at: 4_096 + 16) }
        // Without the last segment's head and events, nothing says which position is next.
        let last = try StorageDirectory(at: scratch.path, makes: false).names().filter { $0.hasSuffix("segment") }.last
        let end = try StorageDirectory(at: scratch.path, makes: false).open(try #require(last), forWriting: true)
        try [UInt8](repeating: 0xEE, count: try end.byteCount()).withUnsafeBytes { try end.write($0, at: 0) }
        #expect(throws: JournalError.self) { _ = try EventJournal(at: scratch.path) }

        #expect(try await scratch.run(.salvage(into: target.path)) == .badInput)
        #expect(scratch.said.first?.hasPrefix("the event at position 1 is missing: ") == true)
        #expect(try await target.run(Self.all) == .success)
        let found = target.said
        #expect(scratch.said.last?.hasPrefix("\(found.count) events were copied; ") == true)
        #expect(found.first?.hasPrefix("1  ") == true && found.first?.hasSuffix("{\"box\":2}") == true)
        #expect(try await scratch.run(Self.all) == .success)
        // The events are the same but for their positions.
        func rest(_ line: String) -> Substring { line.drop { $0 != " " } }
        #expect(scratch.said.filter { !$0.hasPrefix("(") }.map(rest) == found.map(rest))
        #expect(try await target.run(.verify) == .success)
        await #expect { _ = try await scratch.run(.salvage(into: target.path)) } throws: { error in
            (error as? RunFailure)?.description.contains("has events already") == true
        }

        #expect(try await target.run(.salvage(into: "\(scratch.path)/again"), isJSON: true) == .success)
        #expect(target.said == ["{\"copied\":\(found.count),\"missing\":0}"])
        let again = try StorageDirectory(at: "\(scratch.path)/again", makes: false)
        for name in try again.names() { try again.remove(name) }
        rmdir("\(scratch.path)/again")
    }

    @Test("an unknown number of missing events is told as unknown by verify and salvage")
    func unknownCount() async throws {
        let scratch = try Scratch()
        let journal = try await scratch.fill(10)
        await journal.close()
        let file = try StorageDirectory(at: scratch.path, makes: false)
            .open("00000000000000000001.segment", forWriting: true)
        // The end record has 48 bytes, and the last event ends before it.
        try [UInt8](repeating: 0xEE, count: 64).withUnsafeBytes { try file.write($0, at: try file.byteCount() - 64) }
        #expect(try await scratch.run(.verify) == .badInput)
        #expect(
            scratch.said.last == "9 events in 1 segment; 1 place is damaged, how many events are missing is unknown"
        )
        #expect(try await scratch.run(.verify, isJSON: true) == .badInput)
        #expect(scratch.said.last?.hasPrefix("{\"events\":9,\"missing\":null,") == true)

        try [UInt8](repeating: 0xEE, count: 8).withUnsafeBytes { try file.write($0, at: 4_096 + 16) }
        #expect(try await scratch.run(.verify) == .badInput)
        #expect(scratch.said.last == "8 events in 1 segment; 2 places are damaged, at least 1 event is missing")
        let target = try Scratch()
        #expect(try await scratch.run(.salvage(into: target.path)) == .badInput)
        #expect(scratch.said.last == "8 events were copied; 2 places are damaged, at least 1 event is missing")
        let other = try Scratch()
        #expect(try await scratch.run(.salvage(into: other.path), isJSON: true) == .badInput)
        #expect(scratch.said.last == "{\"copied\":8,\"missing\":null}")
    }

    @Test("salvage says that a journal without any head cannot be salvaged")
    func headless() async throws {
        let scratch = try Scratch()
        let journal = try await scratch.fill(10)
        await journal.close()
        let file = try StorageDirectory(at: scratch.path, makes: false)
            .open("00000000000000000001.segment", forWriting: true)
        try [UInt8](repeating: 0xEE, count: 72).withUnsafeBytes { try file.write($0, at: 0) }
        await #expect { _ = try await scratch.run(.salvage(into: "\(scratch.path)/new")) } throws: { error in
            guard let failure = error as? RunFailure else { return false }
            return failure.status == .noInput && failure.description.contains("cannot be salvaged, as no head")
        }
        #expect(try !StorageDirectory(at: scratch.path, makes: false).names().contains("new"))
    }

    @Test("a directory that is not there is named")
    func missing() async throws {
        let command = JournalCommand(options: JournalOptions(directory: "/nowhere/at/all", .list))
        await #expect { _ = try await command.run { _ in .printed } } throws: { error in
            guard let failure = error as? RunFailure else { return false }
            return failure.status == .noInput && failure.description.contains("/nowhere/at/all")
        }
    }
}
