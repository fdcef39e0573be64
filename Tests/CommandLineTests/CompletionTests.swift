import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("supervisor completion")
struct CompletionTests {
    /// What is typed, and what a shell has to offer for its last word.
    static let lines: [(typed: [String], offered: [String])] = [
        (["ru"], ["run"]),
        (["--v"], ["--version"]),
        (["run", "--f"], ["--format"]),
        (["run", "--format", "j"], ["json"]),
        (["run", "c", "--input", "some"], ["some file"]),
        (["check", "some"], ["some file"]),
        (["graph", "c", "--format", ""], ["dot", "mermaid"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["help", "ch"], ["check"]),
        (["dead-letters", "re"], ["redeliver"]),
        (["request", "A", "{}", "--aw"], ["--awaiting"]),
        (["reload", "--w"], ["--within"]),
        (["logs", "store", "--f"], ["--follow"]),
        (["events", "--f"], ["--for"]),
        (["dead-letters", "list", "--ev"], ["--event"]),
    ]

    /// Runs a shell with a script in a directory where there is a file, and gives the lines that it prints.
    private func lines(_ shell: String, _ script: String) async throws -> [String]? {
        let places: [String] = ["/usr/bin/\(shell)", "/bin/\(shell)"]
        let program = places.first { access($0, X_OK) == 0 }
        guard let program else {
            CurrentProcess.report("not tested: completion in \(shell), as there is no \(shell)")
            return nil
        }
        let workspace = try Workspace()
        try workspace.write("some file", "")
        try workspace.write("script", script)
        let completion = try await workspace.run("completion", shell)
        #expect(completion.status == .exited(code: 0))
        try workspace.write("completion", completion.output.joined(separator: "\n") + "\n")
        let result = try await SupervisorProgram.run(["script"], of: program, in: workspace.path)
        #expect(result.errors == [])
        #expect(result.status == .exited(code: 0))
        return result.output
    }

    @Test("bash offers subcommands, options, their values and files", .timeLimit(.minutes(5)))
    func bash() async throws {
        let calls = Self.lines.map { line in
            let words = (["supervisor"] + line.typed).map { "'\($0)'" }.joined(separator: " ")
            return """
                COMP_WORDS=(\(words)); COMP_CWORD=\(line.typed.count); _supervisor
                printf '%s|' $(printf '%s\\n' "${COMPREPLY[@]// /_}" | sort); echo
                """
        }
        guard let found = try await lines("bash", "source completion\n" + calls.joined(separator: "\n")) else { return }
        #expect(found == Self.lines.map { $0.offered.map { $0.replacing(" ", with: "_") + "|" }.joined() })
    }

    @Test("bash takes the sign between an option and its value for a word", .timeLimit(.minutes(5)))
    func bashAssignment() async throws {
        let script = """
            source completion
            COMP_WORDS=(supervisor run --format = te); COMP_CWORD=4; _supervisor; echo "${COMPREPLY[@]}"
            COMP_WORDS=(supervisor run --format =); COMP_CWORD=3; _supervisor; echo "${COMPREPLY[@]}"
            """
        guard let found = try await lines("bash", script) else { return }
        #expect(found == ["text", "text json"])
    }

    @Test("fish offers the same", .timeLimit(.minutes(5)))
    func fish() async throws {
        let calls = Self.lines.map { line in
            "complete -C '\((["supervisor"] + line.typed).joined(separator: " "))' | cut -f 1 | sort | string join '|'; true"
        }
        guard let found = try await lines("fish", "source completion\n" + calls.joined(separator: "\n")) else { return }
        #expect(found == Self.lines.map { $0.offered.joined(separator: "|") })
    }

    @Test("zsh understands its script", .timeLimit(.minutes(5)))
    func zsh() async throws {
        let script = """
            compdef() { print "compdef $*" }
            _arguments() { print -l -- "$@" }
            _describe() { print -l -- $subcommands }
            source completion
            words=(supervisor ru); CURRENT=2; _supervisor
            words=(supervisor graph --f); CURRENT=3; _supervisor
            """
        guard let found = try await lines("zsh", script) else { return }
        #expect(found.first == "compdef _supervisor supervisor")
        #expect(found.contains("run:run the workers and print the events that pass"))
        #expect(found.contains { $0.hasPrefix("--format[") && $0.hasSuffix("]:mermaid|dot:(mermaid dot)") })
        #expect(found.last == "1:configuration:_files")
    }
}
