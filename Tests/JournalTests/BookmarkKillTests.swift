import BridgePlatform
import DomainEvents
import TestSupport
import Testing

@testable import Journal

@Suite("Bookmarks of a worker that is killed, and its host")
struct BookmarkKillTests {
    /// Lets a host import until it has said so many numbers, and kills it in the midst of them.
    private static func importAndKill(_ journal: ScratchJournal, after count: Int) throws {
        let pipe = try FileDescriptor.pipe()
        var request = SpawnRequest(executable: try KillTests.programs() + "/numbered-importer")
        request.arguments = [journal.path]
        request.environment = CurrentProcess.sanitizerOptions
        request.standardOutput = .descriptor(pipe.writing.rawValue)
        request.standardError = .inherit
        let host = try ChildProcess.spawn(request)
        pipe.writing.close()
        let output = SystemFile(pipe.reading)
        var said = 0
        while said < 8 * count {
            let bytes = try output.read(upTo: 4_096)
            guard !bytes.isEmpty else { break }
            said += bytes.count
        }
        #expect(said >= 8 * count, "the host has ended by itself")
        try host.signal(OperatingSystem.kill)
        _ = host.waitForExit()
    }

    @Test(
        "J21, J24: a killed worker of a killed host loses no number that it has sent, and imports none twice",
        .timeLimit(.minutes(20))
    )
    func kills() throws {
        let scratch = try ScratchJournal()
        let keepsOutboxes = try Self.keepsOutboxes(ScratchJournal())
        var position: UInt64 = 0
        var random = SeededGenerator.announced()
        for kill in 0..<rounds(20, atLeast: 6) {
            try Self.importAndKill(scratch, after: 1 + random.below(8_001))
            let before = position
            position = try StoredJournal(at: scratch.path).read(after: position, where: JournalQuery()) { step in
                guard case .event(let record) = step else {
                    Issue.record("kill \(kill): \(step)")
                    return false
                }
                // The source's numbers are the positions: one that was lost or came twice would move all later ones.
                #expect(record.bookmark?.text == "\(record.position)")
                #expect(record.payload == Self.payload(of: record.position))
                return true
            }
            #expect(position > before)
            guard keepsOutboxes else { continue }
            #expect(try Self.lost(scratch) == 0, "kill \(kill): this number was sent, and no host has recorded it")
        }
        // The first segments are gone, and with them the records that bore the first bookmarks.
        let journal = try scratch.open()
        #expect(journal.bookmark(ofWorker: "importer")?.text == "\(position)")
    }

    /// Whether a host keeps its workers' outboxes beside such a journal; if not, reports what is not tested.
    private static func keepsOutboxes(_ scratch: ScratchJournal) throws -> Bool {
        defer { withExtendedLifetime(scratch) {} }
        let files = try scratch.files
        do throws(SystemError) {
            if DirectoryStorage(files).keepsOutboxes {
                _ = try files.makeMemory("probe", byteCount: 1 << 20)
                try files.remove("probe")
                return true
            }
        } catch {
            if !error.isUnsupported { throw error }
        }
        CurrentProcess.report("not tested: J21 with real processes, as this file system keeps no outboxes")
        return false
    }

    /// A number that the worker had sent and then did not find recorded; 0 for none.
    private static func lost(_ scratch: ScratchJournal) throws -> UInt64 {
        let sent = try scratch.bytes(of: "sent")
        return sent.count < 16 ? 0 : sent.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }
    }

    /// `{"number": n}` in CBOR.
    private static func payload(of number: UInt64) -> [UInt8] {
        var head: [UInt8]
        switch number {
        case 0..<24: head = [UInt8(number)]
        case 24..<256: head = [0x18, UInt8(number)]
        case 256..<65_536: head = [0x19] + withUnsafeBytes(of: UInt16(number).bigEndian) { Array($0) }
        default: head = [0x1A] + withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
        }
        head = [0xA1, 0x66] + Array("number".utf8) + head
        return head
    }
}
