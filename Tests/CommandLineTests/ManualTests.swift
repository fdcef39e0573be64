import BridgePlatform
import Testing

@Suite("supervisor help --man")
struct ManualTests {
    @Test("man, groff and mandoc have nothing against any page", .timeLimit(.minutes(5)))
    func pages() async throws {
        let workspace = try Workspace()
        let help = try await workspace.run("help")
        let listed = help.output.filter { $0.hasPrefix("  supervisor ") }.map { $0.split(separator: " ")[1] }
        let names = listed.filter { !$0.hasPrefix("-") }.map(String.init)
        #expect(names.contains("run") && names.contains("help"))
        var pages = ["supervisor"]
        let whole = try await workspace.run("help", "--man")
        try workspace.write("supervisor", whole.output.joined(separator: "\n") + "\n")
        for name in names {
            let page = try await workspace.run("help", "--man", name)
            #expect(page.status == .exited(code: 0) && page.errors.isEmpty, "\(name)")
            try workspace.write("supervisor-\(name)", page.output.joined(separator: "\n") + "\n")
            pages.append("supervisor-\(name)")
        }
        let readers: [(program: String, options: [String])] = [
            ("/usr/bin/groff", ["-man", "-Tascii", "-ww", "-z"]), ("/usr/bin/man", ["--warnings", "--local-file"]),
            ("/usr/bin/mandoc", ["-Wwarning"]),
        ]
        for (program, options) in readers {
            guard OperatingSystem.fileExists(program) else {
                CurrentProcess.report("not tested: the manual's pages, as there is no \(program)")
                continue
            }
            for page in pages {
                let read = try await SupervisorProgram.run(options + [page], of: program, in: workspace.path)
                // The pages have no date: it would be the date of the build, and differ between builds.
                let dated = ["WARNING: missing date, using", "see above the output for WARNING messages"]
                let errors = read.errors.filter { error in !dated.contains { error.contains($0) } }
                #expect(errors.isEmpty, "\(program) \(page): \(errors)")
                #expect(read.output.contains { $0.contains("SUPERVISOR") } || options.contains("-z"))
            }
        }
    }
}
