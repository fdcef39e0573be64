import BridgePlatform
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Where the program `bridge-guard` of this build is.
func guardPath() throws -> String {
    try CurrentProcess.executableDirectory() + "/bridge-guard"
}

extension SpawnRequest {
    /// The same request for a child that is tied to this process.
    func tied(guardedBy guardDescriptor: CInt? = nil) -> SpawnRequest {
        var request = self
        request.diesWithParent = true
        request.guardDescriptor = guardDescriptor
        return request
    }
}

/// Whether the process lives, and is not a zombie.
private func isAlive(_ process: pid_t) -> Bool {
    let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return false }
    defer { close(descriptor) }
    let text = String(decoding: readToEnd(descriptor), as: UTF8.self)
    guard let end = text.lastIndex(of: ")") else { return false }
    let state = text[text.index(after: end)...].first { $0 != " " }
    return state != nil && state != "Z" && state != "X"
}

extension PlatformTests {
    @Suite("A child that is tied to its parent is otherwise as it is without that")
    struct TiedChildTests {
        @Test
        func theProgramGetsWhatWasAskedForAndNothingElse() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withTemporaryDirectory { directory in
                        let link = try UnixSocket.pair()
                        var request = SpawnRequest(executable: "/bin/sh")
                        request.name = "a name"
                        request.arguments = [
                            "-c", "echo \"$0|$1|$#\"; pwd; ls /proc/self/fd | xargs", "zero", "--", "-x",
                        ]
                        request.environment = ["PATH": "/usr/bin:/bin"]
                        request.workingDirectory = directory
                        request.descriptors = [.init(child: 7, parent: link.first.rawValue)]
                        let guarding = try UnixSocket.pair()
                        let direct = try run(request)
                        let launched = try run(request.tied(guardedBy: guarding.first.rawValue))
                        #expect(launched.output == direct.output)
                        #expect(launched.output.hasPrefix("zero|--|2\n\(directory)\n0 1 2 3 7"))
                        #expect(launched.exit.status == .exited(code: 0))
                    }
                }
            }
        }

        @Test("A7: a program that cannot be started is named, with the error, and nothing is left of the attempt")
        func whatCannotBeStartedIsNamed() async {
            await #expect(processExitsWith: .success) {
                try withTemporaryDirectory { directory in
                    makeFilesThatAreNoPrograms(in: directory)
                    try leavingNothingBehind {
                        let cases = [
                            ("missing", ENOENT), ("plain", EACCES), ("garbage", ENOEXEC), ("garbage/below", ENOTDIR),
                            (".", EACCES),
                        ]
                        for (name, code) in cases {
                            let request = SpawnRequest(executable: "\(directory)/\(name)").tied()
                            let error = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                            #expect(
                                error == .failed(SystemError(code: code, operation: "spawn of \(directory)/\(name)"))
                            )
                        }
                        var request = shell("exit 0").tied()
                        request.workingDirectory = directory + "/missing"
                        let error = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                        #expect(error?.description.contains("in the working directory \(directory)/missing") == true)
                    }
                }
            }
        }

        @Test("N14: a program that is being written is busy, and half of one is no program")
        func aProgramThatIsBeingReplaced() async {
            await #expect(processExitsWith: .success) {
                try withTemporaryDirectory { directory in
                    let path = "\(directory)/program"
                    let source = open("/bin/true", O_RDONLY | O_CLOEXEC)
                    let whole = readToEnd(source)
                    close(source)
                    for isTied in [false, true] {
                        let direct = SpawnRequest(executable: path)
                        let request = isTied ? direct.tied() : direct
                        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o755)
                        writeAll(file, whole)
                        let busy = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                        #expect(busy?.code == ETXTBSY)
                        // Half of the head, which the kernel checks.
                        ftruncate(file, 32)
                        close(file)
                        let half = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                        #expect(half?.code == ENOEXEC)
                        unlink(path)
                    }
                }
            }
        }

        #if os(Linux)
        @Test("B4: a child lives on when the thread that asked for it ends, though it is to die with its parent")
        func theChildOutlivesTheThreadThatAskedForIt() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let input = try FileDescriptor.pipe()
                    let output = try FileDescriptor.pipe()
                    var request = SpawnRequest(executable: "/bin/cat").tied()
                    request.standardInput = .descriptor(input.reading.rawValue)
                    request.standardOutput = .descriptor(output.writing.rawValue)
                    let asked = request
                    let spawned = Mailbox<ChildProcess>()
                    let thread = try PlatformThread.startJoinable(name: "asker") {
                        if let child = try? ChildProcess.spawn(asked) { spawned.put(child) }
                    }
                    let child = try spawned.wait()[0]
                    thread.join()
                    var byte: UInt8 = 0
                    for number in 1..<20 as Range<UInt8> {
                        writeAll(input.writing.rawValue, [number])
                        #expect(read(output.reading.rawValue, &byte, 1) == 1 && byte == number)
                    }
                    input.writing.close()
                    #expect(child.waitForExit().status == .exited(code: 0))
                }
            }
        }
        #endif
    }

    @Suite("A guard kills what is left of the children it was told of, and nothing else")
    struct ProcessGuardTests {
        /// Starts a shell that leaves a process behind, and waits until the shell has ended and was waited for.
        private static func leaveBehind(_ guarding: ProcessGuard) throws -> pid_t {
            let descriptor = try #require(guarding.descriptor)
            var request = shell("sleep 1000 >/dev/null & echo $!").tied(guardedBy: descriptor.rawValue)
            request.killsGroupOnExit = false
            let (output, exit) = try run(request)
            withExtendedLifetime(descriptor) {}
            #expect(exit.status == .exited(code: 0))
            return try #require(pid_t(output.prefix { $0.isNumber }))
        }

        @Test
        func whatIsLeftOfAGroupWhoseLeaderIsGoneIsKilled() async {
            await #expect(processExitsWith: .success) {
                let poller = try Poller(name: "guard test")
                let guarding = try ProcessGuard.start(program: try guardPath(), on: poller)
                // More processes than the guard has room for at first; it soon forgets most of them.
                let left = try (0..<3).map { _ in try Self.leaveBehind(guarding) }
                for _ in 0..<100 {
                    let descriptor = try #require(guarding.descriptor)
                    _ = try run(shell("exit 0").tied(guardedBy: descriptor.rawValue))
                }
                let stranger = try ChildProcess.spawn(shell("exec sleep 1000"))
                #expect(left.allSatisfy(isAlive))
                await guarding.end(on: poller)
                #expect(guarding.descriptor == nil)
                // Killed before the guard ends; another process takes their status.
                for process in left { while isAlive(process) { await Task.yield() } }
                #expect(stranger.isRunning)
                try stranger.signal(SIGKILL)
                #expect(stranger.waitForExit().status == .signaled(signal: SIGKILL, coreDumped: false))
                poller.stop()
                var information = siginfo_t()
                #expect(waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == -1 && errno == ECHILD)
            }
        }

        #if os(Linux)
        @Test("A guard whose end could not be noticed counts as not begun, and is told of no child")
        func unwatched() async {
            await #expect(processExitsWith: .success) {
                let poller = try Poller(name: "guard test")
                guard MissingSystemCalls.installForWatches() else {
                    return CurrentProcess.report("not tested: an unwatched guard, as this system has no filters")
                }
                let guarding = try ProcessGuard.start(program: try guardPath(), on: poller)
                let begun = Mailbox<SpawnError?>()
                guarding.whenBegun { begun.put($0) }
                #expect(try begun.wait()[0]?.code == ENOSPC)
                #expect(guarding.descriptor == nil)
                poller.stop()
            }
        }
        #endif

        @Test
        func aGuardThatOutlivesItsObjectLeavesTheProcessTable() async {
            await #expect(processExitsWith: .success) {
                let poller = try Poller(name: "guard test")
                var guarding: ProcessGuard? = try ProcessGuard.start(program: try guardPath(), on: poller)
                let begun = Mailbox<SpawnError?>()
                guarding?.whenBegun { begun.put($0) }
                #expect(try begun.wait() == [nil])
                // As in a bridge that is released without a shutdown: the guard's exit comes after the poller's end.
                poller.stop()
                guarding = nil
                var information = siginfo_t()
                waitUntil { waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == -1 && errno == ECHILD }
            }
        }

        @Test(
            "A wrong command line is refused with what was found and what was expected",
            arguments: [
                (["--as", "worker"], "only a bridge starts this program: found --as, expected an option"),
                (["--parent"], "--parent: found , expected the number"),
                (["--parent", "12x"], "--parent: found 12x, expected the number"),
                (["--parent", "99999999999999999999"], "--parent: found 99999999999999999999, expected"),
                (["--parent", "0"], "--parent: found 0, expected the number"),
                (["--connection", "2"], "--connection: found 2, expected the number of a descriptor behind"),
                (["--connection", "-1"], "--connection: found -1, expected the number of a descriptor behind"),
                (["--parent", "7", "--parent", "7"], "--parent: found it twice, expected it once"),
                (["--mark", "SHORT="], "--mark: found SHORT=, expected the beginning of a variable, 16 bytes"),
                (["--mark", "LONG_BUT_NO_SIGN_IN_IT"], "--mark: found LONG_BUT_NO_SIGN_IN_IT, expected"),
                ([], "--parent: found nothing, expected it always"),
                (["--parent", "7"], "--connection: found nothing, expected it always"),
            ] as [([String], String)]
        )
        func wrongCommandLine(arguments: [String], sentence: String) throws {
            let pipe = try FileDescriptor.pipe()
            var request = SpawnRequest(executable: try guardPath())
            request.arguments = arguments
            request.standardError = .descriptor(pipe.writing.rawValue)
            let child = try ChildProcess.spawn(request)
            pipe.writing.close()
            let text = String(decoding: readToEnd(pipe.reading.rawValue), as: UTF8.self)
            #expect(text.hasPrefix("bridge-guard: \(sentence)"), "\(text)")
            #expect(text.hasSuffix("\n"))
            #expect(child.waitForExit().status == .exited(code: 64))
        }

        @Test("A guard that takes no more messages holds up no start")
        func guardThatIsStopped() async {
            await #expect(processExitsWith: .success) {
                let guarding = try UnixSocket.pair()
                // The far end is open, and nothing reads it.
                let descriptor = guarding.first.rawValue
                var byte: UInt8 = 0
                while send(descriptor, &byte, 1, CInt(MSG_DONTWAIT)) == 1 {}
                #expect(errno == EAGAIN)
                #expect(try run(shell("echo here").tied(guardedBy: descriptor)).output == "here\n")
                // So long it was open.
                guarding.second.close()
            }
        }

        @Test
        func withoutAGuardTheChildBeginsAllTheSame() async {
            await #expect(processExitsWith: .success) {
                let guarding = try UnixSocket.pair()
                guarding.second.close()
                let request = shell("echo here").tied(guardedBy: guarding.first.rawValue)
                #expect(try run(request).output == "here\n")
            }
        }
    }
}
