import BridgePlatform
import Foundation
import TestSupport
import Testing

/// The worker that serves a live page: `Fixtures/dashboard-worker`.
@Suite("The dashboard", .serialized, .timeLimit(.minutes(5)))
struct DashboardTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures").path
    private static let token = "token-of-these-tests"

    /// Runs `body` while a supervisor has the dashboard and another worker.
    private func withDashboard(
        token: String = "",
        misbehaviour: String = "none",
        status: CInt = 0,
        most: Int = 1_000_000,
        _ body: (Workspace, RunningProgram) async throws -> Void
    ) async throws {
        let workspace = try Workspace()
        let dashboard = """
            { name: "dashboard", executable: "\(Self.fixtures)/dashboard-worker/worker.py", control: true,
              arguments: ["--socket", "run/page", "--control", "run/s", "--most", "\(most)"],
              environment: { DASHBOARD_TOKEN: "\(token)" }, handshake: "4m", shutdown: { grace: "4m" } },
            """
        let bridge = Workspace.bridge(misbehaviour).replacingOccurrences(
            of: "workers: [",
            with: "workers: [\n\(dashboard)"
        )
        try workspace.write("bridge.json5", bridge)
        let supervisor = workspace.start("run", "bridge.json5", "--format", "json")
        for name in ["worker", "dashboard"] {
            _ = try #require(await supervisor.line(with: "worker \"\(name)\" is ready"), "\(supervisor.lines)")
        }
        // From then on the dashboard asks for reports.
        _ = try #require(await supervisor.line(with: "\"dashboard\" (process"), "\(supervisor.lines)")
        _ = try #require(await supervisor.line(with: "has attached"), "\(supervisor.lines)")
        try await body(workspace, supervisor)
        supervisor.terminate()
        #expect(try await supervisor.result().status == .exited(code: status))
    }

    /// Makes a request whose answer comes line by line.
    private func request(_ text: String, in workspace: Workspace) throws -> Answer {
        try Answer(to: text, from: "\(workspace.path)/run/page")
    }

    private func get(_ path: String, _ fields: String..., in workspace: Workspace) throws -> Answer {
        let lines = ["GET \(path) HTTP/1.1"] + (fields.isEmpty ? ["Host: localhost"] : fields)
        return try request(lines.joined(separator: "\r\n") + "\r\n\r\n", in: workspace)
    }

    private func post(
        _ path: String,
        _ body: String = "{}",
        token: String?,
        in workspace: Workspace
    ) throws -> Answer {
        let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        return try request(
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\n\(authorization)Content-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)",
            in: workspace
        )
    }

    @Test("serves one page that a browser lets nothing else into")
    func page() async throws {
        try await withDashboard { workspace, _ in
            let lines = try await get("/", in: workspace).all()
            #expect(lines.first == "HTTP/1.1 200 OK")
            #expect(lines.contains("X-Content-Type-Options: nosniff"))
            #expect(lines.contains("Cross-Origin-Resource-Policy: same-origin"))
            let policy = try #require(lines.first { $0.hasPrefix("Content-Security-Policy: ") })
            #expect(policy.contains("default-src 'none'; script-src 'sha256-"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(lines.last == "</html>")
            #expect(!lines.contains { $0.contains("innerHTML") })
        }
    }

    @Test("tells of a published event, and counts it for Prometheus")
    func event() async throws {
        try await withDashboard { workspace, _ in
            let stream = try get("/events", in: workspace)
            // The first picture with a report of the host.
            _ = try #require(await stream.line { $0.contains("\"trouble\": null") })
            let published = try await SupervisorProgram.run(
                ["publish", "--control", "run/s", "WorkRequested", #"{"number": 7, "text": "<b>"}"#],
                in: workspace.path
            )
            #expect(published.status == .exited(code: 0), "\(published.errors)")
            let told = try #require(await stream.line { $0.contains("\"type\": \"WorkDone\"") })
            #expect(told.hasPrefix("data: {\"items\": ["))
            // The second answer of the host from here on was requested after the event.
            for _ in 0..<2 { _ = try #require(await stream.line { $0.contains("\"trouble\": null") }) }
            let metrics = try await get("/metrics", in: workspace).all()
            #expect(metrics.contains(#"event_bridge_worker_ready{worker="worker"} 1"#), "\(metrics)")
            #expect(metrics.contains(#"event_bridge_worker_starts_total{worker="worker"} 1"#))
            #expect(metrics.contains(#"event_bridge_dashboard_events_total{type="WorkDone",source="worker"} 1"#))
            #expect(metrics.contains("event_bridge_dashboard_listeners 1"))
        }
    }

    @Test("refuses other hosts, other origins and commands")
    func refusals() async throws {
        try await withDashboard { workspace, _ in
            let rebound = try await get("/", "Host: rebound.example", in: workspace).all()
            #expect(rebound.first == "HTTP/1.1 421 Misdirected Request")
            let foreign = try await get("/events", "Host: localhost", "Origin: http://a.example", in: workspace).all()
            #expect(foreign.first == "HTTP/1.1 403 Forbidden")
            let command = try await post("/workers/worker/restart", token: Self.token, in: workspace).all()
            #expect(command.first == "HTTP/1.1 403 Forbidden")
        }
    }

    @Test("restarts a worker and publishes an event with the token")
    func commands() async throws {
        try await withDashboard(token: Self.token) { workspace, supervisor in
            for wrong in [nil, "token-of-other-tests"] {
                let refused = try await post("/workers/worker/restart", token: wrong, in: workspace).all()
                #expect(refused.first == "HTTP/1.1 401 Unauthorized")
            }
            let restarted = try await post("/workers/worker/restart", token: Self.token, in: workspace).all()
            #expect(restarted.last == #"{"restarted": "worker"}"#)
            #expect(await supervisor.line { $0.contains("\"worker\" is ready") && $0.contains("start 2") } != nil)
            let unknown = try await post("/workers/nobody/restart", token: Self.token, in: workspace).all()
            #expect(unknown.first == "HTTP/1.1 409 Conflict")
            let event = #"{"type": "WorkRequested", "data": {"number": 8, "text": ""}}"#
            let published = try await post("/publish", event, token: Self.token, in: workspace).all()
            #expect(published.first == "HTTP/1.1 202 Accepted")
            #expect(await supervisor.line { $0.contains("WorkDone") && $0.contains("\"number\":8") } != nil)
        }
    }

    @Test("offers a dead letter again and throws it away, with the token")
    func deadLetters() async throws {
        try await withDashboard(token: Self.token, misbehaviour: "throw-on:bad", status: 75) { workspace, _ in
            let stream = try get("/events", in: workspace)
            let event = #"{"type": "WorkRequested", "data": {"number": 9, "text": "bad"}}"#
            let published = try await post("/publish", event, token: Self.token, in: workspace).all()
            #expect(published.first == "HTTP/1.1 202 Accepted")
            let told = try #require(await stream.line { $0.contains("\"letters\": [{\"letter\": 1, ") })
            #expect(told.contains("is refused on purpose"))
            for wrong in [nil, "token-of-other-tests"] {
                let refused = try await post("/dead-letters/1/redeliver", token: wrong, in: workspace).all()
                #expect(refused.first == "HTTP/1.1 401 Unauthorized")
            }
            let redelivered = try await post("/dead-letters/1/redeliver", token: Self.token, in: workspace).all()
            #expect(redelivered.last == #"{"letter": 1, "outcome": "accepted", "worker": "worker"}"#)
            // The worker has refused it again.
            _ = try #require(await stream.line { $0.contains("\"letters\": [{\"letter\": 2, ") })
            let discarded = try await post("/dead-letters/2/discard", token: Self.token, in: workspace).all()
            #expect(discarded.last == #"{"letter": 2, "outcome": "discarded", "worker": "worker"}"#)
            _ = try #require(await stream.line { $0.contains("\"letters\": [], ") })
            for path in ["/dead-letters/2/discard", "/dead-letters/2/show", "/dead-letters/x/discard"] {
                let unknown = try await post(path, token: Self.token, in: workspace).all()
                #expect(unknown.first == "HTTP/1.1 404 Not Found")
            }
        }
    }

    @Test("takes a sample of a flood, and all events again when it is over")
    func flood() async throws {
        try await withDashboard(misbehaviour: "flood", most: 20) { workspace, _ in
            let stream = try get("/events", in: workspace)
            _ = try #require(await stream.line { $0.contains("\"trouble\": null") })
            for (number, text) in [(2_000, "many"), (1, "one more")] {
                let published = try await SupervisorProgram.run(
                    ["publish", "--control", "run/s", "WorkRequested", #"{"number": \#(number), "text": "\#(text)"}"#],
                    in: workspace.path
                )
                #expect(published.status == .exited(code: 0), "\(published.errors)")
                _ = try #require(await stream.line { $0.contains("\"type\": \"WorkDone\"") && $0.contains(text) })
                guard number > 1 else { continue }
                let sampled = try #require(await stream.line { $0.contains("\"isSampled\": true") })
                #expect(sampled.contains("[\"worker\", \"WorkDone\", "))
                // The dashboard has wanted all events again for a second.
                _ = try #require(await stream.line { $0.contains("\"isSampled\": false") })
            }
        }
    }

    @Test("outlives a thousand hostile requests, and keeps nothing of them")
    func hostile() async throws {
        try await withDashboard(token: Self.token) { workspace, _ in
            let result = try await SupervisorProgram.run(
                ["python3", "\(Self.fixtures)/dashboard-worker/hostile.py", "run/page"],
                of: "/usr/bin/env",
                in: workspace.path,
                environment: ["DASHBOARD_TOKEN": Self.token]
            )
            #expect(result.status == .exited(code: 0), "\(result.errors)")
            #expect(
                result.output.last?.hasSuffix("descriptors, tasks and threads as before") == true,
                "\(result.output)"
            )
        }
    }

    @Test("takes workers' forged reports for ordinary events, and serves its address or ends")
    func scriptedHost() async throws {
        let workspace = try Workspace()
        let result = try await SupervisorProgram.run(
            ["python3", "\(Self.fixtures)/dashboard-worker/scripted.py"],
            of: "/usr/bin/env",
            in: workspace.path
        )
        #expect(result.status == .exited(code: 0), "\(result.errors)")
    }
}

extension DashboardTests {
    /// The lines of an answer, which the test can wait for.
    private final class Answer: Sendable {
        private enum Part: Sendable {
            case line(String)
            case end
        }

        private let parts = Collected<Part>()
        private let read = Collected<Int>()
        private let poller: Poller

        init(to request: String, from socket: String) throws {
            poller = try Poller(name: "answer")
            let connection = try UnixSocket.connect(to: socket)
            CurrentProcess.writeAll(request, to: connection.rawValue)
            // Pictures of the state are long lines.
            var limits = LinePipe.Limits()
            limits.lineLength = 1 << 20
            let parts = parts
            _ = try LinePipe.capture(
                connection,
                on: poller,
                limits: limits,
                onLine: { line in
                    parts.add(.line(line.text.hasSuffix("\r") ? String(line.text.dropLast()) : line.text))
                },
                onEnd: { parts.add(.end) }
            )
        }

        deinit { poller.stop() }

        /// All lines, at the end of the answer.
        func all() async -> [String] {
            await parts.wait { $0.contains { if case .end = $0 { true } else { false } } }
            return lines(of: parts.all)
        }

        /// The first line that matches, after the last line that was waited for; nil if there is none.
        func line(where matches: @escaping @Sendable (String) -> Bool) async -> String? {
            let from = read.all.last ?? 0
            await parts.wait { parts in
                parts.dropFirst(from).contains {
                    if case .line(let line) = $0 { matches(line) } else { true }
                }
            }
            let all = parts.all
            for (place, part) in all.enumerated().dropFirst(from) {
                if case .line(let line) = part, matches(line) {
                    read.add(place + 1)
                    return line
                }
            }
            return nil
        }

        private func lines(of parts: [Part]) -> [String] {
            parts.compactMap { if case .line(let line) = $0 { line } else { nil } }
        }
    }
}
