import BridgeControl
import BridgePlatform
import DomainEvents
import EventBridge
import SupervisorConfiguration
import Testing

@testable import supervisor

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("A configuration that is read again", .timeLimit(.minutes(1)))
struct ConfigurationReloadTests {
    /// Writes a new file, which is removed at the end.
    private func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        var template = Array("/tmp/configuration-reload.XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        close(descriptor)
        let file = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { unlink(file) }
        let stream = try #require(fopen(file, "w"))
        #expect(fputs(text, stream) >= 0)
        fclose(stream)
        try await body(file)
    }

    @Test("is refused by a bridge that has begun to end, and it is not said that the workers go on")
    func overtaken() async throws {
        try await withFile(#"{"workers": [{"name": "a", "executable": "/bin/sh"}]}"#) { file in
            let started = try SupervisorConfiguration.load(file: file)
            let pipe = try FileDescriptor.pipe()
            let output = try LineOutput(SystemFile(pipe.writing), name: "sentences")
            let reader = SystemFile(pipe.reading)
            let diagnostics = Diagnostics(output: output)
            let bridge = try BridgeHost(publisher: EventPublisher(), workers: started.workerSpecifications)
            await bridge.shutdown()
            let reload = ConfigurationReload(
                started: started,
                options: RunOptions(configuration: file),
                dashboard: nil,
                bridge: bridge,
                diagnostics: diagnostics
            )
            let outcome = await reload.run()
            let sentence = "the configuration was not taken: the supervisor is stopping"
            #expect(outcome == ReloadOutcome(.refused, saying: [sentence]))
            diagnostics.say("nothing else was said")
            output.flush()
            let said = String(decoding: try reader.read(upTo: 64 << 10), as: UTF8.self)
            #expect(said == "supervisor: nothing else was said\n")
        }
    }
}
