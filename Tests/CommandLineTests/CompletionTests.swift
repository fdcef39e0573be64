import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("supervisor completion")
struct CompletionTests {
    /// Typed lines, and the words that a shell has to offer for the last word.
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
        (["journal", "li"], ["list"]),
        (["journal", "list", "some"], ["some file"]),
        (["journal", "--after", "3", "list", "--limit", "5", "some"], ["some file"]),
        (["request", "A", "{}", "--aw"], ["--awaiting"]),
        (["reload", "--w"], ["--within"]),
        (["logs", "store", "--f"], ["--follow"]),
        (["events", "--f"], ["--for"]),
        (["dead-letters", "list", "--ev"], ["--event"]),
    ]

    /// The words that a shell has to offer where a supervisor runs with the workers `mail` and `store`.
    static let named: [(typed: [String], offered: [String])] = [
        (["restart", "--control", "run/s", ""], ["mail", "store"]),
        (["logs", "--control", "run/s", "st"], ["store"]),
        (["publish", "--control", "run/s", "WorkReq"], ["WorkRequested"]),
        (["request", "A", "{}", "--control", "run/s", "--awaiting", "WorkReq"], ["WorkRequested"]),
        (["tail", "--control", "run/s", "--from", "m"], ["mail"]),
        // There is no supervisor.
        (["restart", "--control", "run/none", ""], []),
    ]

    /// Runs a shell with a script in a directory where a supervisor runs with two workers.
    private func linesBesideSupervisor(_ shell: String, _ script: String) async throws -> [String]? {
        let workspace = try Workspace()
        let supervisor = try await RunningSupervisor.start(["mail", "store"], in: workspace)
        let products = try SupervisorProgram.products()
        // The script calls the program by the first word of the line.
        let path = shell == "fish" ? "set -gx PATH '\(products)' $PATH" : "PATH='\(products)':$PATH"
        let found = try await lines(shell, "\(path)\n\(script)", in: workspace)
        #expect(try await supervisor.terminate().status == .exited(code: 0))
        return found
    }

    /// Runs a shell with a script in a directory that has a file, and returns the lines that it prints.
    private func lines(_ shell: String, _ script: String, in workspace: Workspace? = nil) async throws -> [String]? {
        let places: [String] = ["/usr/bin/\(shell)", "/bin/\(shell)"]
        let program = places.first { access($0, X_OK) == 0 }
        guard let program else {
            CurrentProcess.report("not tested: completion in \(shell), as there is no \(shell)")
            return nil
        }
        let workspace = try workspace ?? Workspace()
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
            COMP_WORDS=(supervisor journal --after = 3 li); COMP_CWORD=5; _supervisor; echo "${COMPREPLY[@]}"
            COMP_WORDS=(supervisor publish BoxProvisioned so); COMP_CWORD=3; _supervisor; echo "${COMPREPLY[@]}"
            """
        guard let found = try await lines("bash", script) else { return }
        #expect(found == ["text", "text json", "list", ""])
    }

    @Test("fish offers the same", .timeLimit(.minutes(5)))
    func fish() async throws {
        let calls = Self.lines.map { line in
            "complete -C '\((["supervisor"] + line.typed).joined(separator: " "))' | cut -f 1 | sort | string join '|'; true"
        }
        guard let found = try await lines("fish", "source completion\n" + calls.joined(separator: "\n")) else { return }
        #expect(found == Self.lines.map { $0.offered.joined(separator: "|") })
    }

    @Test("bash offers the workers and events of a running supervisor", .timeLimit(.minutes(5)))
    func bashNames() async throws {
        let calls = Self.named.map { line in
            let words = (["supervisor"] + line.typed).map { "'\($0)'" }.joined(separator: " ")
            // On a slow machine the program may give up; a person presses the key again.
            return """
                COMP_WORDS=(\(words)); COMP_CWORD=\(line.typed.count); COMPREPLY=()
                for ((turn = 0; turn < \(line.offered.isEmpty ? 1 : 60) && ${#COMPREPLY[@]} == 0; turn++)); do _supervisor; done
                printf '%s\\n' "${COMPREPLY[@]}" | sort | paste -s -d '|'
                """
        }
        let script = "source completion\n" + calls.joined(separator: "\n")
        guard let found = try await linesBesideSupervisor("bash", script) else { return }
        #expect(found == Self.named.map { $0.offered.joined(separator: "|") })
    }

    @Test("fish offers them as well", .timeLimit(.minutes(5)))
    func fishNames() async throws {
        let calls = Self.named.map { line in
            """
            set found
            for turn in (seq \(line.offered.isEmpty ? 1 : 60))
                set found (complete -C '\((["supervisor"] + line.typed).joined(separator: " "))' | cut -f 1 | sort)
                if set -q found[1]; break; end
            end
            string join '|' $found; true
            """
        }
        let script = "source completion\n" + calls.joined(separator: "\n")
        guard let found = try await linesBesideSupervisor("fish", script) else { return }
        // Without offers there is no line.
        #expect(found == Self.named.map { $0.offered.joined(separator: "|") }.filter { !$0.isEmpty })
    }

    @Test("zsh adds them, with what it was told of the place", .timeLimit(.minutes(5)))
    func zshNames() async throws {
        let calls = Self.named.map { line in
            let words = (["supervisor"] + line.typed).map { "'\($0)'" }.joined(separator: " ")
            let kind = ["publish", "request"].contains(line.typed[0]) ? "events" : "workers"
            return """
                found=()
                for turn in {1..\(line.offered.isEmpty ? 1 : 60)}; do
                    words=(\(words)) CURRENT=\(line.typed.count + 1) kind=\(kind); _supervisor
                    if (($#found > 0)); then break; fi
                done
                print -r -- ${(j:|:)${(o)found}}
                """
        }
        let script = """
            compdef() { : }
            # What zsh does with the action of the place that is completed: `_supervisor_names workers`, with words of its own.
            _arguments() {
                [[ "$*" == *":_supervisor_names $kind"* ]] && _supervisor_names -J group $kind
            }
            compadd() {
                [[ "$1 $2 $3 $4" == "-J group -a names" ]] && found=(${(M)names:#${words[CURRENT]}*})
            }
            source completion
            \(calls.joined(separator: "\n"))
            """
        guard let found = try await linesBesideSupervisor("zsh", script) else { return }
        #expect(found == Self.named.map { $0.offered.joined(separator: "|") })
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
