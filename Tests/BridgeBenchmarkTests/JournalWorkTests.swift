import BridgePlatform
import Testing

@testable import bridge_benchmark

@Suite("The parts of the works with a journal")
struct JournalWorkTests {
    private struct Failure: Error {}

    @Test("An event has 256 bytes in CBOR, whatever its number")
    func payloads() throws {
        for number: Int64 in [0, 1, 1_000_000_000_000] {
            #expect(try BenchmarkRecord.payload(number).count == BenchmarkRecord.payloadBytes)
        }
    }

    @Test("A work's directory goes with what is in it, also if the work fails", .timeLimit(.minutes(1)))
    func directories() async throws {
        var path = ""
        await #expect(throws: Failure.self) {
            try await BenchmarkDirectory.with { directory in
                path = directory.path
                try SystemFile.create(path + "/file").append([1])
                throw Failure()
            }
        }
        #expect(!path.isEmpty)
        #expect(!OperatingSystem.fileExists(path))
    }

    @Test("A work that needs more room than there is says so", .timeLimit(.minutes(1)))
    func room() async throws {
        try await BenchmarkDirectory.with { directory in
            try directory.requireRoom(bytes: 1)
            let error = #expect(throws: BenchmarkDirectoryError.self) { try directory.requireRoom(bytes: 1 << 63) }
            #expect(error?.description.contains("and the work needs 8796093022208 MiB") == true)
        }
    }

    @Test("The median of an even number of values lies between the two in the middle")
    func medians() {
        #expect([4.0, 1.0, 3.0, 2.0].median == 2.5)
        #expect([3.0, 1.0, 2.0].median == 2.0)
        #expect([Double]().median == nil)
    }
}
