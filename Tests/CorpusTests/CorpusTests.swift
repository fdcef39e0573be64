import FuzzTargets
import SupervisorConfiguration
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What libFuzzer has found worth keeping, and every finding, run through the same functions in every build.
@Suite("Corpora of the fuzz targets")
struct CorpusTests {
    private static func target(_ name: String) -> any FuzzTarget {
        switch name {
        case "cbor": CBORTarget()
        case "frames": FrameTarget()
        case "host": HostTarget()
        case "journal": JournalTarget()
        case "lines": LinesTarget()
        case "link": LinkTarget()
        default:
            ConfigurationTarget(
                parse: { _ = try SupervisorConfiguration.parse($0, file: "f") },
                readLine: { _ = try InputEvent(line: $0) }
            )
        }
    }

    private static func inputs(_ name: String) throws -> [URL] {
        let here = URL(filePath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let directory = root.appending(path: "Fixtures/corpora").appending(path: name)
        return try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
            .map { directory.appending(path: $0) }
    }

    @Test(
        "D20, D21: nothing in the corpus breaks what has to hold for any bytes",
        .timeLimit(.minutes(5)),
        arguments: ["cbor", "configuration", "frames", "host", "journal", "lines", "link"]
    )
    func corpus(name: String) async throws {
        let inputs = try Self.inputs(name)
        #expect(inputs.count > 20)
        // Some wait for what other threads do.
        await onThreads(1) { _ in
            let target = Self.target(name)
            for input in inputs {
                do {
                    // In memory that ends with it, so that to read on is found in every build.
                    let memory = try GuardedBytes(try Data(contentsOf: input))
                    try target.run(UnsafeRawBufferPointer(memory.bytes))
                } catch {
                    Issue.record("\(name)/\(input.lastPathComponent): \(error)")
                }
            }
        }
    }
}
