import BridgePlatform
import JSONText
import TestSupport
import Testing

@Suite("supervisor events", .serialized, .timeLimit(.minutes(5)))
struct EventsTests {
    private func texts(_ node: JSONNode?) -> [String] {
        guard case .array(let nodes)? = node?.value else { return [] }
        return nodes.compactMap { if case .string(let text) = $0.value { text } else { nil } }
    }

    @Test("tells of each name who publishes and who wants it, how many came, and their fields")
    func counted() async throws {
        let workspace = try Workspace()
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let counting = workspace.start("events", "--for", "1h", "--json", "--control", "run/s")
        await supervisor.errors.wait {
            $0.contains { $0.contains("\"supervisor events\"") && $0.hasSuffix("has attached") }
        }
        // The program counts the events after its attaching.
        for number in 1...3 {
            let published = try await workspace.run(
                "publish",
                "--control",
                "run/s",
                "WorkRequested",
                "{\"number\": \(number), \"text\": \"t\"}"
            )
            #expect(published.status == .exited(code: 0), "\(published.errors)")
        }
        counting.terminate()
        let result = try await counting.result()
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        let rows = try result.output.map { try JSONReader().read($0) }
        let names = rows.map { row in
            if case .string(let name)? = row["event"]?.value { name } else { "" }
        }
        #expect(names == ["WorkDone", "WorkRequested"])
        let requested = try #require(rows.last)
        #expect(requested["count"]?.value == .unsigned(3))
        #expect(texts(requested["publishedBy"]) == ["client-2", "client-3", "client-4"])
        #expect(texts(requested["wantedBy"]) == ["store"])
        #expect(texts(requested["fields"]) == ["number", "text"])
        let done = try #require(rows.first)
        #expect(texts(done["publishedBy"]) == ["store"] && texts(done["wantedBy"]).isEmpty)
        #expect(try await supervisor.terminate().status == .exited(code: 0))
    }

    @Test("knows what is wanted where nothing passes, in columns; a time that is none is named")
    func quiet() async throws {
        let workspace = try Workspace()
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let result = try await workspace.run("events", "--for", "10ms", "--control", "run/s")
        #expect(result.status == .exited(code: 0) && result.errors.isEmpty, "\(result.errors)")
        #expect(result.output.count == 2)
        #expect(
            result.output.last?.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
                == ["WorkRequested", "-", "store", "0", "0", "0", "B"]
        )
        #expect(try await supervisor.terminate().status == .exited(code: 0))
        let none = try await workspace.run("events", "--for", "2h", "--control", "run/s")
        #expect(none.status == .exited(code: 64))
        #expect(none.errors.first == "supervisor: found \"2h\" after --for, expected 1ms to 1h")
        let gone = try await workspace.run("events", "--control", "run/s")
        #expect(gone.status == .exited(code: 69))
    }
}
