import BridgePlatform
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension SpawnRequest {
    /// The same request for a child in a box.
    fileprivate func inBox(_ change: (inout SpawnBox) -> Void) -> SpawnRequest {
        var box = SpawnBox()
        change(&box)
        var request = self
        request.box = box
        return request
    }
}

/// Whether the system can make the box; if not, reports what is not tested.
private func canDo(_ row: String, _ change: (inout SpawnBox) -> Void) throws -> Bool {
    do throws(SpawnError) {
        _ = try ChildProcess.spawn(shell("exit 0").inBox(change)).waitForExit()
        return true
    } catch {
        guard case .boxUnavailable(let why) = error else { throw error }
        CurrentProcess.report("not tested: \(row), as \(why)")
        return false
    }
}

private let everyFile = SpawnBox.Files(readOnly: [], writable: [])

extension PlatformTests {
    #if os(Linux)
    @Suite("A box is closed around a program before it begins")
    struct BoxTests {
        @Test(
            "F16: limits, mask and the want of new privileges are what was asked for, also of what the program starts"
        )
        func limits() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let script = "umask; grep NoNewPrivs /proc/self/status; sh -c 'cat /proc/self/limits'"
                    let request = shell(script).inBox { box in
                        box.limits = [
                            .memory: 256 << 20, .processorSeconds: 7, .openFiles: 50, .processes: 4_000,
                            .fileSize: 1 << 20, .core: 0,
                        ]
                        box.mask = 0o077
                    }
                    let found = try run(request)
                    #expect(found.output.hasPrefix("0077\nNoNewPrivs:\t1\n"))
                    // Name, soft and hard limit, as proc(5) has them.
                    let lines = found.output.split(separator: "\n").map { line in
                        line.split(separator: " ").joined(separator: " ")
                    }
                    for line in [
                        "Max data size 268435456 268435456 bytes", "Max cpu time 7 9 seconds",
                        "Max open files 50 50 files", "Max processes 4000 4000 processes",
                        "Max file size 1048576 1048576 bytes", "Max core file size 0 0 bytes",
                    ] {
                        #expect(lines.contains(line))
                    }
                    let without = try run(shell("grep NoNewPrivs /proc/self/status").tied())
                    #expect(without.output == "NoNewPrivs:\t0\n")
                }
            }
        }

        @Test("A limit that is lower already stays so, and is no mistake")
        func lowerAlready() async {
            await #expect(processExitsWith: .success) {
                var limit = rlimit(rlim_cur: 30, rlim_max: 30)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                let found = try run(shell("ulimit -n; ulimit -Hn").inBox { $0.limits = [.openFiles: 1_000] })
                #expect(found.output == "30\n30\n")
            }
        }

        @Test("A box is closed although its parent has more descriptors than the program may have")
        func manyDescriptorsOfTheParent() async throws {
            guard try canDo("F16 files", { $0.files = everyFile }) else { return }
            await #expect(processExitsWith: .success) {
                var limit = rlimit(rlim_cur: 64, rlim_max: 4_096)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                CurrentProcess.raiseDescriptorLimit()
                let many = try (0..<100).map { _ in SharedDescriptor(try .duplicate(0, atLeast: 0)) }
                let found = try run(shell("ulimit -n; ulimit -Hn").inBox { $0.files = everyFile })
                #expect(found.output == "64\n4096\n")
                withExtendedLifetime(many) {}
            }
        }

        @Test("A box's limit of open files holds although the parent began with a lower soft limit, and has raised it")
        func moreThanTheParentBeganWith() async {
            await #expect(processExitsWith: .success) {
                var limit = rlimit(rlim_cur: 64, rlim_max: 4_096)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                CurrentProcess.raiseDescriptorLimit()
                let found = try run(shell("ulimit -n; ulimit -Hn").inBox { $0.limits = [.openFiles: 1_000] })
                #expect(found.output == "1000\n1000\n")
            }
        }

        @Test("At the limit of descriptors a start fails for now, and the system does not lack a box")
        func noDescriptorLeft() async throws {
            guard try canDo("F16 files", { $0.files = everyFile }) else { return }
            await #expect(processExitsWith: .success) {
                // What a start itself needs is taken before: as soon as it has its pipe, there is none left for a box.
                var last: SpawnError?
                for free in 0..<16 {
                    var limit = rlimit(rlim_cur: 200, rlim_max: 200)
                    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                    var taken: [SharedDescriptor] = []
                    while let one = try? SharedDescriptor(.duplicate(0, atLeast: 0)) { taken.append(one) }
                    taken.removeLast(free)
                    do throws(SpawnError) {
                        _ = try ChildProcess.spawn(shell("exit 0").inBox { $0.files = everyFile }).waitForExit()
                        break
                    } catch {
                        last = error
                    }
                }
                #expect(last?.code == EMFILE, "\(String(describing: last))")
                #expect(last?.description.contains("in its box") == true, "\(String(describing: last))")
            }
        }

        @Test("F16: only what is listed can be read and written, and what every program needs")
        func files() async throws {
            guard try canDo("F16 files", { $0.files = everyFile }) else { return }
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withTemporaryDirectory { outside in
                        try withTemporaryDirectory { inside in
                            let prepared = shell("printf s > \(outside)/secret; printf g > \(inside)/given")
                            #expect(try run(prepared).exit.status == .exited(code: 0))
                            let tries = [
                                "cat \(outside)/secret", "ls \(outside)", "echo x > \(outside)/secret",
                                "echo x > \(outside)/new", "rm \(outside)/secret",
                                "mv \(inside)/given \(outside)/given",
                                "cat \(inside)/given", "echo x > \(inside)/new", "rm \(inside)/new",
                                "mknod \(inside)/device c 1 3", "cp /bin/true \(inside)/program; \(inside)/program",
                                "echo x > /dev/null", "ls /proc/self/fd", "kill -0 \(getpid())",
                            ]
                            let script = tries.map { "(\($0)) >/dev/null 2>&1 && echo yes || echo no" }
                            let request = shell(script.joined(separator: "\n")).inBox {
                                $0.files = .init(readOnly: [], writable: [inside])
                            }
                            let answers = try run(request).output.split(separator: "\n").map(String.init)
                            #expect(
                                answers.dropLast() == [
                                    "no", "no", "no", "no", "no", "no", "yes", "yes", "yes", "no", "no", "yes", "yes",
                                ]
                            )
                            // Only where Landlock can forbid it (Linux 6.12).
                            print("a signal to a process outside: \(answers.last ?? "")")
                            let reading = shell("cat \(inside)/given; echo x > \(inside)/given || echo refused")
                                .inBox { $0.files = .init(readOnly: [inside], writable: []) }
                            #expect(try run(reading).output == "grefused\n")
                        }
                    }
                }
            }
        }

        @Test("A path of the box that is not there is named")
        func missingPath() async throws {
            guard try canDo("F16 files", { $0.files = everyFile }) else { return }
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let request = shell("exit 0").inBox {
                        $0.files = .init(readOnly: ["/usr"], writable: ["/nowhere"])
                        $0.isBestEffort = true
                    }
                    let error = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                    #expect(
                        error?.description
                            == "spawn of /bin/sh, whose box gives it /nowhere, failed: No such file or directory (ENOENT)"
                    )
                }
            }
        }

        /// Why a process in a box with these files does not begin; nil if it begins.
        private func refusal(_ files: SpawnBox.Files) -> String? {
            do throws(SpawnError) {
                _ = try ChildProcess.spawn(shell("exit 0").inBox { $0.files = files }).waitForExit()
                return nil
            } catch {
                return error.description
            }
        }

        @Test("F16: a box follows no link that a process in this box, or in another, could have put there")
        func replacedPath() async throws {
            guard try canDo("F16 files", { $0.files = everyFile }) else { return }
            await #expect(processExitsWith: .success) {
                try withTemporaryDirectory { directory in
                    let (given, secret) = ("\(directory)/given", "\(directory)/secret")
                    let prepared = """
                        mkdir -p \(given)/kept/below \(secret) && ln -s ../secret \(given)/replaced &&
                        ln -s \(secret) \(given)/absolute && ln -s given \(directory)/ours &&
                        ln -s given/replaced \(directory)/onwards
                        """
                    let status = try run(shell(prepared)).exit.status
                    #expect(status == .exited(code: 0))
                    defer { _ = try? run(shell("rm -r \(directory)/*")) }
                    let astray = [
                        "\(given)/replaced", "\(given)/absolute", "\(given)/kept/../replaced",
                        "\(directory)/ours/replaced", "\(directory)/onwards", "\(given)/kept/../kept",
                    ]
                    for path in astray {
                        let sentence = """
                            spawn of /bin/sh, whose box gives it \(path) by way of a link in a directory that a worker \
                            may write, failed: Permission denied (EACCES)
                            """
                        var elsewhere = SpawnBox.Files(readOnly: [path], writable: [])
                        elsewhere.writableElsewhere = [given]
                        #expect(BoxTests().refusal(elsewhere) == sentence)
                        #expect(BoxTests().refusal(.init(readOnly: [path], writable: [given])) == sentence)
                        #expect(BoxTests().refusal(.init(readOnly: [], writable: [given, path])) == sentence)
                        // By way of the user's own link the writable directory is the same.
                        let other = SpawnBox.Files(readOnly: [path], writable: ["\(directory)/ours"])
                        #expect(BoxTests().refusal(other) == sentence)
                    }
                }
            }
        }

        @Test("A box follows other links, and gives rights to what lies in a writable directory")
        func otherLinks() async throws {
            guard try canDo("F16 files", { $0.files = everyFile }) else { return }
            await #expect(processExitsWith: .success) {
                try withTemporaryDirectory { directory in
                    let given = "\(directory)/given"
                    let prepared = """
                        mkdir -p \(given)/programs \(directory)/far && cp /bin/true \(given)/programs/true &&
                        printf f > \(directory)/far/file && ln -s far \(directory)/near &&
                        ln -s \(given)/programs \(directory)/ours
                        """
                    let status = try run(shell(prepared)).exit.status
                    #expect(status == .exited(code: 0))
                    defer { _ = try? run(shell("rm -r \(directory)/*")) }
                    let paths = ["\(directory)/near", "\(given)/../near/file", "/bin", "\(given)", "/etc/../usr/bin"]
                    for path in paths {
                        #expect(BoxTests().refusal(.init(readOnly: [path], writable: [given])) == nil)
                    }
                    let script = """
                        cat \(directory)/far/file; \(given)/programs/true && echo ran; cp /bin/true \(given)/new
                        \(given)/new 2>/dev/null || echo refused
                        """
                    let request = shell(script).inBox {
                        $0.files = .init(readOnly: ["\(directory)/near", "\(directory)/ours"], writable: [given])
                    }
                    #expect(try run(request).output == "fran\nrefused\n")
                }
            }
        }

        @Test("F16: a set-user-ID program gets no rights in a box")
        func noNewPrivileges() async throws {
            guard geteuid() == 0, CurrentProcess.isExecutableFile("/usr/bin/setpriv") else {
                CurrentProcess.report("not tested: F16 privileges, as only the superuser can make such a program")
                return
            }
            await #expect(processExitsWith: .success) {
                try withTemporaryDirectory { directory in
                    #expect(chmod(directory, 0o755) == 0)
                    let program = "\(directory)/who"
                    let script = "cp /usr/bin/id \(program) && chown 0:0 \(program) && chmod 4755 \(program)"
                    #expect(try run(shell(script)).exit.status == .exited(code: 0))
                    let who = shell("exec setpriv --reuid 65534 --regid 65534 --clear-groups \(program) -u")
                    // On a file system without set-user-ID the test would show nothing: check that first.
                    try #require(try run(who.tied()).output == "0\n")
                    #expect(try run(who.inBox { _ in }).output == "65534\n")
                }
            }
        }

        @Test("F16: the limit of processes holds for a user who has no more rights than others")
        func processes() async throws {
            guard geteuid() == 0, CurrentProcess.isExecutableFile("/usr/bin/setpriv") else {
                CurrentProcess.report("not tested: F16 processes, as only the superuser can become another user")
                return
            }
            await #expect(processExitsWith: .success) {
                let script =
                    "exec 2>&1; exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c '/bin/true; echo went on'"
                let free = try run(shell(script).inBox { $0.limits = [.processes: 100_000] })
                #expect(free.output == "went on\n")
                let limited = try run(shell(script).inBox { $0.limits = [.processes: 1] })
                #expect(limited.output != "went on\n" && limited.exit.status != .exited(code: 0))
            }
        }

        @Test(
            "B8: what the kernel lacks is a refusal that names it; with best effort the program begins, and is told without"
        )
        func kernelLacks() async throws {
            guard try canDo("B8", { $0.refusesNetwork = true }) else { return }
            await #expect(processExitsWith: .success) {
                // As on a kernel without Landlock and without filters.
                try #require(MissingSystemCalls.install())
                try leavingNothingBehind {
                    let wishes: [(String, (inout SpawnBox) -> Void)] = [
                        ("file-system rules need Landlock", { $0.files = everyFile }),
                        ("keeping the process away from others needs Landlock", { $0.refusesNetwork = true }),
                    ]
                    for (words, wish) in wishes {
                        let error = #expect(throws: SpawnError.self) {
                            _ = try ChildProcess.spawn(shell("exit 0").inBox(wish))
                        }
                        guard case .boxUnavailable(let sentence) = error else {
                            Issue.record("found \(String(describing: error))")
                            continue
                        }
                        #expect(sentence.hasPrefix(words) && sentence.hasSuffix("(ENOSYS)"))
                    }
                    let lacks: [([(inout SpawnBox) -> Void], [String])] = [
                        ([wishes[0].1], ["file-system rules need", "keeping the process from changing others needs"]),
                        ([wishes[1].1], ["keeping the process away from others", "taking away the network needs"]),
                        (wishes.map(\.1), ["file-system rules need", "taking away the network needs"]),
                    ]
                    for (wishes, words) in lacks {
                        let request = shell("exit 7").inBox { box in
                            for wish in wishes { wish(&box) }
                            box.isBestEffort = true
                        }
                        let child = try ChildProcess.spawn(request)
                        #expect(child.missingFromBox.count == words.count)
                        for (sentence, word) in zip(child.missingFromBox, words) { #expect(sentence.hasPrefix(word)) }
                        #expect(child.waitForExit().status == .exited(code: 7))
                    }
                }
            }
        }
    }
    #endif
}
