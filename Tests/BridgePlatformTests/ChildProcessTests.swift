import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

private let setpriv = "/usr/bin/setpriv"

private func program(_ path: String, _ arguments: String...) -> SpawnRequest {
    var request = SpawnRequest(executable: path)
    request.arguments = arguments
    return request
}

/// The numbers that `ls` lists; its own descriptor for the directory is the lowest that was free.
private func descriptors(in output: String) -> [Int] {
    output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.sorted()
}

/// The hexadecimal number behind a key of /proc/self/status.
private func mask(_ key: String, in status: String) -> UInt64? {
    for line in status.split(separator: "\n") where line.hasPrefix(key + ":") {
        return line.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) }
    }
    return nil
}

extension PlatformTests {
    #if os(Linux)
    @Suite("A child has exactly what it was given")
    struct SpawnHygieneTests {
        @Test
        func onlyTheStandardStreamsAndTheLinkAreOpen() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let link = try UnixSocket.pair()
                    var request = program("/bin/ls", "/proc/self/fd")
                    request.descriptors = [.init(child: 3, parent: link.first.rawValue)]
                    #expect(descriptors(in: try run(request).output) == [0, 1, 2, 3, 4])
                    #expect(descriptors(in: try run(program("/bin/ls", "/proc/self/fd")).output) == [0, 1, 2, 3])
                }
            }
        }

        @Test
        func strayDescriptorsDoNotReachTheChildWhateverTheirFlags() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let link = try UnixSocket.pair()
                    let strays = try (0..<200).map { index in
                        let copy = SharedDescriptor(
                            try .duplicate(link.first.rawValue, atLeast: index == 199 ? 900 : 3)
                        )
                        if index % 2 == 0 { _ = fcntl(copy.rawValue, F_SETFD, 0) }
                        return copy
                    }
                    // Between the streams and the highest wanted number lies a stray one that closes on no exec.
                    let hole = strays[2].rawValue
                    let wanted = [hole + 1, hole + 2]
                    var request = program("/bin/ls", "/proc/self/fd")
                    request.descriptors = wanted.map { .init(child: $0, parent: link.first.rawValue) }
                    // The lowest free number is that of the directory which `ls` opens.
                    let expected = ([0, 1, 2, 3] + wanted).map { Int($0) }
                    #expect(descriptors(in: try run(request).output) == expected)
                    withExtendedLifetime(strays) {}
                }
            }
        }

        @Test
        func descriptorsOpenedByOtherThreadsMeanwhileDoNotReachTheChild() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let isOver = Mailbox<Bool>()
                    let threads = try (0..<2).map { _ in
                        try PlatformThread.startJoinable(name: "opener") {
                            while isOver.contents.isEmpty {
                                for _ in 0..<50 { close(open("/dev/null", O_RDONLY)) }
                            }
                        }
                    }
                    for _ in 0..<50 {
                        let output = try run(program("/bin/ls", "/proc/self/fd")).output
                        #expect(descriptors(in: output) == [0, 1, 2, 3])
                    }
                    isOver.put(true)
                    for thread in threads { thread.join() }
                }
            }
        }

        @Test
        func noSignalIsBlockedOrIgnoredWhicheverThreadAsks() async {
            await #expect(processExitsWith: .success) {
                signal(SIGPIPE, SIG_IGN)
                try leavingNothingBehind {
                    let status = Mailbox<String>()
                    // A platform thread blocks nearly all signals.
                    let thread = try PlatformThread.startJoinable(name: "asker") {
                        status.put((try? run(program("/bin/cat", "/proc/self/status")).output) ?? "")
                    }
                    thread.join()
                    let text = try status.wait()[0]
                    #expect(mask("SigBlk", in: text) == 0)
                    #expect(mask("SigIgn", in: text) == 0)
                }
            }
        }

        @Test
        func theChildHasAProcessGroupOfItsOwn() throws {
            // Field 5 of stat is the group, field 1 the process.
            let output = try run(program("/bin/cat", "/proc/self/stat")).output.split(separator: " ")
            #expect(output.count > 5 && output[0] == output[4])
        }
    }
    #endif

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
                    for (name, mode) in [("plain", 0o644), ("garbage", 0o755)] {
                        let file = open("\(directory)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, mode_t(mode))
                        writeAll(file, Array("this is no program\n".utf8))
                        close(file)
                    }
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

    @Suite("A child's end is noticed once and for all")
    struct ChildExitTests {
        @Test
        func theExitCodeArrives() async {
            await #expect(processExitsWith: .success) {
                for code in [0, 1, 255] as [CInt] {
                    try leavingNothingBehind {
                        let exits = Mailbox<ChildExit>()
                        try withPoller { poller in
                            let child = try ChildProcess.spawn(shell("exit \(code)"))
                            try child.onExit(on: poller) { exits.put($0) }
                            #expect(try exits.wait()[0].status == .exited(code: code))
                            #expect(!child.isRunning)
                            #expect(child.waitForExit().status == .exited(code: code))
                        }
                        #expect(exits.contents.count == 1)
                        #expect(exits.contents[0].resourceUse != nil)
                    }
                }
            }
        }

        #if os(Linux)
        @Test("The peak of a child's memory is told if it is the child's own, not what this process had before it")
        func ownPeak() async {
            await #expect(processExitsWith: .success) {
                // Of its own, so that a small child has less than this process.
                let (size, own) = (2 * CurrentProcess.peakResidentBytes() + (128 << 20), 32 << 20)
                let block = UnsafeMutableRawPointer.allocate(byteCount: own, alignment: 16)
                defer { block.deallocate() }
                block.initializeMemory(as: UInt8.self, repeating: 1, count: own)
                let small = try ChildProcess.spawn(shell("exit 0")).waitForExit()
                #expect(try #require(small.resourceUse).peakResidentBytes == nil)
                // `tail` keeps all of that, as it cannot know where its input ends.
                let large = try ChildProcess.spawn(shell("head -c \(size) /dev/zero | tail -c \(size) >/dev/null"))
                let peak = try #require(large.waitForExit().resourceUse?.peakResidentBytes)
                #expect(peak > size && peak < 4 * size)
            }
        }
        #endif

        @Test
        func theSignalArrives() async {
            await #expect(processExitsWith: .success) {
                for signal in [SIGKILL, SIGTERM] {
                    try leavingNothingBehind {
                        try withPoller { poller in
                            let exits = Mailbox<ChildExit>()
                            let child = try ChildProcess.spawn(program("/bin/sleep", "1000"))
                            try child.onExit(on: poller) { exits.put($0) }
                            #expect(child.isRunning)
                            #expect(try child.signal(signal))
                            #expect(try exits.wait()[0].status == .signaled(signal: signal, coreDumped: false))
                            #expect(try !child.signal(signal))
                            #expect(try !child.signalGroup(signal))
                        }
                    }
                }
            }
        }

        @Test
        func theProcessorTimeIsTheChilds() throws {
            let exit = try ChildProcess.spawn(shell("i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done")).waitForExit()
            let use = try #require(exit.resourceUse)
            #expect(use.userMicroseconds + use.systemMicroseconds > 0)
        }

        @Test
        func aChildThatIsDeadAlreadyIsReportedAllTheSame() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let pipe = try FileDescriptor.pipe()
                        var request = shell("exit 3")
                        request.standardOutput = .descriptor(pipe.writing.rawValue)
                        let child = try ChildProcess.spawn(request)
                        pipe.writing.close()
                        _ = readToEnd(pipe.reading.rawValue)
                        var information = siginfo_t()
                        waitid(P_PID, id_t(child.processIdentifier), &information, WEXITED | WNOWAIT)
                        #expect(child.isRunning, "no thread has looked yet")
                        #expect(try child.signal(SIGTERM), "a zombie takes signals silently")
                        let exits = Mailbox<ChildExit>()
                        try child.onExit(on: poller) { exits.put($0) }
                        #expect(try exits.wait()[0].status == .exited(code: 3))
                    }
                }
            }
        }

        @Test
        func aChildReapedByOtherCodeIsReportedAsThat() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let child = try ChildProcess.spawn(shell("exit 0"))
                        waitpid(child.processIdentifier, nil, 0)
                        #expect(try !child.signal(SIGTERM))
                        #expect(try !child.signalGroup(SIGTERM))
                        let exits = Mailbox<ChildExit>()
                        try child.onExit(on: poller) { exits.put($0) }
                        #expect(try exits.wait() == [ChildExit(status: .reapedElsewhere, resourceUse: nil)])
                    }
                }
            }
        }

        @Test
        func aSecondObserverIsRefused() throws {
            try withPoller { poller in
                let child = try ChildProcess.spawn(shell("exit 0"))
                let exits = Mailbox<ChildExit>()
                try child.onExit(on: poller) { exits.put($0) }
                let error = #expect(throws: SystemError.self) { try child.onExit(on: poller) { exits.put($0) } }
                #expect(error?.code == EBUSY)
                #expect(try exits.wait().count == 1)
            }
        }

        @Test
        func whatTheChildLeavesBehindInItsGroupIsKilled() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let pipe = try FileDescriptor.pipe()
                        var request = shell("sleep 1000 & exit 5")
                        request.standardOutput = .descriptor(pipe.writing.rawValue)
                        let child = try ChildProcess.spawn(request)
                        pipe.writing.close()
                        let exits = Mailbox<ChildExit>()
                        try child.onExit(on: poller) { exits.put($0) }
                        // The grandchild holds the pipe, so the pipe can end only because the grandchild ends.
                        #expect(readToEnd(pipe.reading.rawValue).isEmpty)
                        #expect(try exits.wait()[0].status == .exited(code: 5))
                    }
                }
            }
        }

        @Test
        func aGrandchildThatHoldsThePipeDoesNotDelayTheExit() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let pipe = try FileDescriptor.pipe()
                        var request = shell("sleep 1000 & echo $!; exit 6")
                        request.killsGroupOnExit = false
                        request.standardOutput = .descriptor(pipe.writing.rawValue)
                        let child = try ChildProcess.spawn(request)
                        pipe.writing.close()
                        let exits = Mailbox<ChildExit>()
                        let lines = Mailbox<String>()
                        let ends = Mailbox<Bool>()
                        let capture = try LinePipe.capture(pipe.reading, on: poller) {
                            lines.put($0.text)
                        } onEnd: {
                            ends.put(true)
                        }
                        try child.onExit(on: poller) { exits.put($0) }
                        #expect(try exits.wait()[0].status == .exited(code: 6))
                        let grandchild = try #require(pid_t(try lines.wait()[0]))
                        #expect(kill(grandchild, 0) == 0 && ends.contents.isEmpty)
                        capture.finish()
                        try ends.wait()
                        kill(grandchild, SIGKILL)
                    }
                }
            }
        }

        @Test
        func theWholeGroupIsSignalledWhileItsLeaderLives() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let pipe = try FileDescriptor.pipe()
                    var request = shell("sleep 1000 & echo x; wait")
                    request.standardOutput = .descriptor(pipe.writing.rawValue)
                    let child = try ChildProcess.spawn(request)
                    pipe.writing.close()
                    var byte: UInt8 = 0
                    #expect(read(pipe.reading.rawValue, &byte, 1) == 1)
                    #expect(try child.signalGroup(SIGTERM))
                    _ = readToEnd(pipe.reading.rawValue)
                    #expect(child.waitForExit().status == .signaled(signal: SIGTERM, coreDumped: false))
                }
            }
        }

        @Test
        func manyChildrenThatEndTogetherAreAllNoticed() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let exits = Mailbox<BridgePlatform.ExitStatus>()
                        let children = try (0..<32).map { _ in try ChildProcess.spawn(program("/bin/sleep", "1000")) }
                        for child in children { try child.onExit(on: poller) { exits.put($0.status) } }
                        for child in children { try child.signal(SIGKILL) }
                        let all = try exits.wait(for: 32)
                        #expect(
                            all
                                == [BridgePlatform.ExitStatus](
                                    repeating: .signaled(signal: SIGKILL, coreDumped: false),
                                    count: 32
                                )
                        )
                    }
                }
            }
        }

        @Test
        func aSpawnCanBeAwaitedWithoutBlocking() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let answers = Mailbox<Result<ChildProcess, SpawnError>>()
                    try ChildProcess.spawn(shell("exit 9")) { answers.put($0) }
                    try ChildProcess.spawn(SpawnRequest(executable: "/missing")) { answers.put($0) }
                    let results = try answers.wait(for: 2)
                    #expect(try results[0].get().waitForExit().status == .exited(code: 9))
                    #expect(throws: SpawnError.self) { try results[1].get() }
                    // When the spawner has answered the next request, it has released the first child.
                    _ = try ChildProcess.spawn(shell("exit 0")).waitForExit()
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
