import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

private let setpriv = "/usr/bin/setpriv"

extension PlatformTests {
    @Suite("A child starts as requested")
    struct SpawnRequestTests {
        @Test
        func sourcesAndTargetsMayOverlapInAnyWay() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    // Ten pipes, each with a letter in it, so that low numbers are certainly taken.
                    let pipes = try (0..<10).map { index in
                        let pipe = try FileDescriptor.pipe()
                        writeAll(pipe.writing.rawValue, [UInt8(ascii: "a") + UInt8(index)])
                        return SharedDescriptor(pipe.reading)
                    }
                    let sources = pipes.map(\.rawValue).sorted()
                    let letter = Dictionary(uniqueKeysWithValues: pipes.enumerated().map { ($1.rawValue, $0) })
                    // Each child's number is the number of another source, and one source is given twice.
                    let targets = sources.map { $0 }
                    var request = shell("")
                    var expected = ""
                    var script = ""
                    for (index, target) in targets.prefix(6).enumerated() where (3...9).contains(target) || target < 256
                    {
                        let source = sources[(index + 1) % 6]
                        request.descriptors.append(.init(child: target, parent: source))
                        // A shell redirects single-digit descriptors only; cat reads any through /dev/fd.
                        script += "head -c 1 /dev/fd/\(target); "
                        expected.unicodeScalars.append(.init(UInt8(ascii: "a") + UInt8(letter[source] ?? 0)))
                    }
                    request.arguments = ["-c", script]
                    #expect(try run(request).output == expected)
                    withExtendedLifetime(pipes) {}
                }
            }
        }

        @Test
        func standardStreamsMayBeExchanged() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let output = try FileDescriptor.pipe()
                    let errors = try FileDescriptor.pipe()
                    // The child's streams come from each other's place: 1 becomes 2 and 2 becomes 1.
                    var outer = shell("exec 3>&1 1>&2 2>&3; echo to-one; echo to-two >&2")
                    outer.standardOutput = .descriptor(output.writing.rawValue)
                    outer.standardError = .descriptor(errors.writing.rawValue)
                    let child = try ChildProcess.spawn(outer)
                    output.writing.close()
                    errors.writing.close()
                    #expect(readToEnd(output.reading.rawValue) == Array("to-two\n".utf8))
                    #expect(readToEnd(errors.reading.rawValue) == Array("to-one\n".utf8))
                    #expect(child.waitForExit().status == .exited(code: 0))
                }
            }
        }

        @Test
        func theNullDeviceReadsNothingAndSwallowsAll() throws {
            var request = shell("cat; echo lost; echo lost >&2")
            request.standardInput = .nullDevice
            let child = try ChildProcess.spawn(request)
            #expect(child.waitForExit().status == .exited(code: 0))
        }

        @Test
        func aStreamMayBeInherited() throws {
            var request = shell("cat <&0 >/dev/null; exit 0")
            request.standardError = .inherit
            request.standardInput = .nullDevice
            #expect(try ChildProcess.spawn(request).waitForExit().status == .exited(code: 0))
        }

        @Test
        func argumentsEnvironmentNameAndDirectoryArriveExactly() throws {
            try withTemporaryDirectory { directory in
                var request = SpawnRequest(executable: "/bin/sh")
                request.name = "a name"
                request.arguments = ["-c", "echo \"$0|$1|$2|$#\"; pwd; env", "zero", "", "ü \" '\n"]
                request.environment = ["KEY": "a=b c", "EMPTY": ""]
                request.workingDirectory = directory
                let output = try run(request).output
                #expect(output.hasPrefix("zero||ü \" '\n|2\n\(directory)\n"))
                let environment = output.split(separator: "\n").drop { $0 != directory[...] }.dropFirst()
                // PWD, OLDPWD, SHLVL and _ are the shell's own.
                let own = environment.filter { entry in
                    !["PWD=", "OLDPWD=", "SHLVL=", "_="].contains { entry.hasPrefix($0) }
                }
                #expect(Set(own).isSuperset(of: ["KEY=a=b c", "EMPTY="]))
                #expect(!output.contains("HOME="))
            }
        }

        @Test
        func whatCannotBeHandedOverIsNamed() {
            let change: [(String, (inout SpawnRequest) -> Void)] = [
                ("executable", { $0.executable = "" }),
                ("executable", { $0.executable = "a\0b" }),
                ("name", { $0.name = "\0" }),
                ("arguments[1]", { $0.arguments = ["fine", "not\0fine"] }),
                ("environment", { $0.environment = ["": "value"] }),
                ("environment key \"a=b\"", { $0.environment = ["a=b": "value"] }),
                ("environment key \"a\\0\"", { $0.environment = ["a\0": "value"] }),
                ("environment value of a", { $0.environment = ["a": "\0"] }),
                ("workingDirectory", { $0.workingDirectory = "/\0" }),
                ("descriptor 2", { $0.descriptors = [.init(child: 2, parent: 0)] }),
                ("descriptor 256", { $0.descriptors = [.init(child: 256, parent: 0)] }),
                ("descriptor -1", { $0.descriptors = [.init(child: -1, parent: 0)] }),
                ("descriptor 3", { $0.descriptors = [.init(child: 3, parent: 0), .init(child: 3, parent: 1)] }),
            ]
            for (expected, apply) in change {
                var request = SpawnRequest(executable: "/bin/sh")
                apply(&request)
                let error = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                guard case .invalidArgument(let name, _)? = error else {
                    Issue.record("\(expected): \(error.debugDescription)")
                    continue
                }
                #expect(name == expected)
            }
        }

        @Test
        func aProgramThatCannotBeRunIsNamedAndLeavesNothing() async {
            await #expect(processExitsWith: .success) {
                try withTemporaryDirectory { directory in
                    makeFilesThatAreNoPrograms(in: directory)
                    try leavingNothingBehind {
                        let cases = [
                            ("missing", ENOENT), ("plain", EACCES), ("garbage", ENOEXEC), ("garbage/below", ENOTDIR),
                            // NAME_MAX is 255 on all systems that are supported.
                            (String(repeating: "n", count: 256), ENAMETOOLONG),
                        ]
                        for (name, code) in cases {
                            let path = "\(directory)/\(name)"
                            let error = #expect(throws: SpawnError.self) {
                                _ = try ChildProcess.spawn(SpawnRequest(executable: path))
                            }
                            #expect(error == .failed(SystemError(code: code, operation: "spawn of \(path)")))
                        }
                        var request = shell("exit 0")
                        request.workingDirectory = directory + "/missing"
                        let error = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                        #expect(error?.description.contains("in the working directory \(directory)/missing") == true)
                        request = shell("exit 0")
                        // More than the kernel takes, even without a limit on the stack, of which arguments may fill a
                        // quarter.
                        request.arguments += [String](repeating: String(repeating: "x", count: 100_000), count: 100)
                        let tooBig = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                        #expect(tooBig?.code == E2BIG)
                        request = shell("exit 0")
                        request.descriptors = [.init(child: 3, parent: 7999)]
                        #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                    }
                }
            }
        }

        @Test
        func withoutAFreeDescriptorTheSpawnFailsAndWorksAgainLater() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    var former = rlimit()
                    getrlimit(limitOfOpenFiles, &former)
                    var low = former
                    low.rlim_cur = 200
                    setrlimit(limitOfOpenFiles, &low)
                    var filling: [CInt] = []
                    while case let copy = dup(0), copy >= 0 { filling.append(copy) }
                    let error = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(shell("exit 0")) }
                    for descriptor in filling { close(descriptor) }
                    setrlimit(limitOfOpenFiles, &former)
                    #expect(error?.code == EMFILE)
                    let child = try ChildProcess.spawn(shell("exit 4"))
                    #expect(child.waitForExit().status == .exited(code: 4))
                }
            }
        }

        @Test
        func theChildOutlivesTheThreadThatAskedForIt() async throws {
            try #require(access(setpriv, X_OK) == 0, "setpriv arms the parent-death signal for this test")
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let input = try FileDescriptor.pipe()
                    let output = try FileDescriptor.pipe()
                    var request = program(setpriv, "--pdeathsig", "KILL", "/bin/cat")
                    request.standardInput = .descriptor(input.reading.rawValue)
                    request.standardOutput = .descriptor(output.writing.rawValue)
                    let spawned = Mailbox<ChildProcess>()
                    let asked = request
                    var bytes = [UInt8](repeating: 0, count: 10)
                    let (inputNumber, outputNumber) = (input.writing.rawValue, output.reading.rawValue)
                    let thread = try PlatformThread.startJoinable(name: "asker") {
                        var bytes = [UInt8](repeating: 0, count: 10)
                        guard let child = try? ChildProcess.spawn(asked) else { return }
                        // The child's answer means that the signal is armed.
                        writeAll(inputNumber, [1])
                        _ = read(outputNumber, &bytes, bytes.count)
                        spawned.put(child)
                    }
                    let child = try spawned.wait()[0]
                    thread.join()
                    for number in 2..<20 as Range<UInt8> {
                        writeAll(inputNumber, [number])
                        #expect(read(outputNumber, &bytes, bytes.count) == 1 && bytes[0] == number)
                    }
                    input.writing.close()
                    #expect(child.waitForExit().status == .exited(code: 0))
                }
            }
        }
    }
}

#if os(Linux)
private let limitOfOpenFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#else
private let limitOfOpenFiles = RLIMIT_NOFILE
#endif
