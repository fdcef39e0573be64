import BridgePlatform
import Testing

/// A supervisor that is started with fewer descriptors than its workers take.
@Suite("The limit of open descriptors", .timeLimit(.minutes(5)))
struct DescriptorLimitTests {
    /// A worker that reports how many descriptors it may open, and takes every event.
    private static let worker = #"""
        #!/usr/bin/env bash
        printf 'at most %s descriptors\n' "$(ulimit -Sn)" >&2
        say() { printf '%s\n' "$1" >&"$EVENT_BRIDGE_FD"; }
        say "{\"bridge\":\"hello\",\"cookie\":\"$EVENT_BRIDGE_COOKIE\",\"wants\":[\"Asked\"]}"
        say '{"bridge":"ready"}'
        while IFS= read -r line <&"$EVENT_BRIDGE_FD"; do
            if [[ $line == '{"bridge":"drain"'* ]]; then say '{"bridge":"goodbye","reason":"shutdown"}'; exit; fi
            if [[ $line =~ \"sequence\":([0-9]+) ]]; then say "{\"bridge\":\"ack\",\"sequence\":${BASH_REMATCH[1]}}"; fi
        done
        """#

    @Test("the supervisor raises its own to the hard one, and its workers get the one from before")
    func raised() async throws {
        let workspace = try Workspace()
        let worker = try workspace.program("worker.sh", Self.worker)
        // Each worker takes six of the supervisor's descriptors.
        try workspace.write(
            "bridge.json5",
            """
            { workers: [{ name: "w", executable: "\(worker)", subscribes: ["Asked"], handshake: "4m",
                          pool: { members: 30, keys: { Asked: "every-member" } } }] }
            """
        )
        try workspace.write("input.jsonl", "{\"type\": \"Asked\", \"data\": {}}\n")
        let supervisor = try SupervisorProgram.products() + "/supervisor"
        let result = try await SupervisorProgram.run(
            ["-c", "ulimit -Sn 64; exec \(supervisor) run bridge.json5 --input input.jsonl --exit-when-idle"],
            of: "/bin/sh",
            in: workspace.path
        )
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        #expect(result.errors.count { $0.hasSuffix("at most 64 descriptors") } == 30, "\(result.errors)")
    }
}
