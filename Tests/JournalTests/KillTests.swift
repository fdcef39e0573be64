import BridgePlatform
import DomainEvents
import Testing

@testable import Journal

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("A journal whose process is killed")
struct KillTests {
    /// The directory of the fixtures' programs.
    static func programs() throws -> String {
        // On Darwin the tests are a bundle beside the programs, which another program loads.
        if let bundle = CommandLine.arguments.first(where: { $0.contains(".xctest") }), bundle.hasPrefix("/"),
            let end = bundle.firstRange(of: ".xctest")?.lowerBound, let slash = bundle[..<end].lastIndex(of: "/")
        {
            return String(bundle[..<slash])
        }
        return try CurrentProcess.executableDirectory()
    }

    /// Lets a process publish until this many numbers have arrived, and kills it.
    ///
    /// - Returns: The last number that the process has printed.
    private static func publishAndKill(_ journal: ScratchJournal, after count: Int) throws -> UInt64 {
        let pipe = try FileDescriptor.pipe()
        var request = SpawnRequest(executable: try programs() + "/journal-writer")
        request.arguments = [journal.path]
        request.environment = CurrentProcess.sanitizerOptions
        request.standardOutput = .descriptor(pipe.writing.rawValue)
        request.standardError = .inherit
        let child = try ChildProcess.spawn(request)
        pipe.writing.close()
        let output = SystemFile(pipe.reading)
        var said: [UInt8] = []
        while said.count < 8 * count {
            let bytes = try output.read(upTo: 4_096)
            guard !bytes.isEmpty else { break }
            said += bytes
        }
        try child.signal(OperatingSystem.kill)
        _ = child.waitForExit()
        while case let bytes = try output.read(upTo: 65_536), !bytes.isEmpty { said += bytes }
        let whole = said.count / 8 * 8
        guard whole > 0 else { return 0 }
        return said[(whole - 8)..<whole].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    @Test(
        "J1: every event whose publish had returned is there after a SIGKILL, in order, at every moment of a burst",
        .timeLimit(.minutes(5))
    )
    func kills() async throws {
        let scratch = try ScratchJournal()
        var last: UInt64 = 0
        for kill in 0..<20 {
            // Each kill at another place in a segment, and sometimes after several segments.
            last = try Self.publishAndKill(scratch, after: 1 + kill * kill * 17)
            var next: UInt64 = 1
            try StoredJournal(at: scratch.path).read(after: 0, where: JournalQuery()) { step in
                guard case .event(let record) = step else {
                    Issue.record("kill \(kill): \(step)")
                    return false
                }
                // The fixture's event is a map of one number, which is also the event's position.
                #expect(record.position == next)
                next += 1
                return true
            }
            #expect(next - 1 >= last, "kill \(kill): \(last) were published, \(next - 1) are there")
            #expect(last > 0)
        }
    }
}
