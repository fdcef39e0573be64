import BridgePlatform
import Dispatch
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The request as it is, and the same for a child that is tied to this process.
private func bothWays(_ request: SpawnRequest) -> [SpawnRequest] {
    [request, request.tied()]
}

extension PlatformTests {
    #if os(Linux)
    @Suite("What spawning has to stand, by the rows of the fault cases")
    struct SpawnRowTests {
        @Test("B1: of 1,000 stray descriptors up to 2^16, and those that others open meanwhile, none reaches a child")
        func strayDescriptors() async {
            reportDescriptorLimit()
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let highest = raisedDescriptorLimit(to: (1 << 16) + 1) - 1
                    let strays = try (0..<1_000).map { index in
                        let lowest = index == 0 ? CInt(highest) : CInt(index * (highest - 64) / 1_000)
                        let copy = SharedDescriptor(try .duplicate(0, atLeast: lowest))
                        _ = fcntl(copy.rawValue, F_SETFD, 0)
                        return copy
                    }
                    let isOver = Mailbox<Bool>()
                    let threads = try (0..<2).map { _ in
                        try PlatformThread.startJoinable(name: "opener") {
                            while isOver.contents.isEmpty {
                                for _ in 0..<50 { close(open("/dev/null", O_RDONLY)) }
                            }
                        }
                    }
                    let link = try UnixSocket.pair()
                    var request = program("/bin/ls", "/proc/self/fd")
                    request.descriptors = [.init(child: 3, parent: link.first.rawValue)]
                    for request in bothWays(request) {
                        for _ in 0..<20 {
                            // 4 is what it opens itself.
                            #expect(descriptors(in: try run(request).output) == [0, 1, 2, 3, 4])
                        }
                    }
                    isOver.put(true)
                    for thread in threads { thread.join() }
                    withExtendedLifetime(strays) {}
                }
            }
        }

        @Test("B2: asked from a Dispatch thread and from a task with signals blocked, a child blocks and ignores none")
        func masks() async {
            await #expect(processExitsWith: .success) {
                // If SIGCHLD were ignored too, there would be no exit status of a child to wait for.
                for signal in 1..<65 as Range<CInt> where signal != SIGCHLD { _ = Glibc.signal(signal, SIG_IGN) }
                let children = Mailbox<String>()
                DispatchQueue.global().async {
                    for request in bothWays(program("/bin/cat", "/proc/self/status")) {
                        children.put((try? run(request).output) ?? "")
                    }
                }
                await Task.detached {
                    blockAllSignals()
                    for request in bothWays(program("/bin/cat", "/proc/self/status")) {
                        children.put((try? run(request).output) ?? "")
                    }
                }.value
                for status in try children.wait(for: 4) {
                    #expect(mask("SigBlk", in: status) == 0)
                    #expect(mask("SigIgn", in: status) == 0)
                }
                for request in bothWays(program("/bin/sleep", "1000")) {
                    let child = try ChildProcess.spawn(request)
                    try child.signal(SIGTERM)
                    #expect(child.waitForExit().status == .signaled(signal: SIGTERM, coreDumped: false))
                }
            }
        }

        @Test("B3: a child has SIGPIPE at its default though this process ignores it")
        func brokenPipes() async {
            await #expect(processExitsWith: .success) {
                SignalSource.ignoreBrokenPipes()
                for request in bothWays(program("/usr/bin/yes")) {
                    let pipe = try FileDescriptor.pipe()
                    var request = request
                    request.standardOutput = .descriptor(pipe.writing.rawValue)
                    let child = try ChildProcess.spawn(request)
                    pipe.writing.close()
                    pipe.reading.close()
                    #expect(child.waitForExit().status == .signaled(signal: SIGPIPE, coreDumped: false))
                }
            }
        }

        /// Eight threads spawn while others allocate, change what signals do, and hold the locks that `abort` takes.
        @Test("B5: spawned among threads that allocate and change signal actions, no child hangs or has more")
        func manyThreads() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let count = rounds(2_000)
                    let isOver = Mailbox<Bool>()
                    let others = try noise(until: isOver)
                    let outcomes = Mailbox<Bool>()
                    let spawners = try (0..<8).map { thread in
                        try PlatformThread.startJoinable(name: "spawning \(thread)") {
                            for number in 0..<count / 8 { outcomes.put(spawnOne(number)) }
                        }
                    }
                    for thread in spawners { thread.join() }
                    isOver.put(true)
                    for thread in others { thread.join() }
                    #expect(outcomes.contents.count == count / 8 * 8)
                    #expect(outcomes.contents.allSatisfy { $0 })
                }
            }
        }

        @Test("B6: a NUL, an empty key and 2 MiB of arguments are refused by name, and nothing traps")
        func impossibleArguments() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let wrong: [(String, (inout SpawnRequest) -> Void)] = [
                        ("arguments[0]", { $0.arguments = ["a\0b"] }),
                        ("environment", { $0.environment = ["": "x"] }),
                        ("environment value of k", { $0.environment = ["k": "a\0b"] }),
                    ]
                    for (name, change) in wrong {
                        for var request in bothWays(program("/bin/true")) {
                            change(&request)
                            let error = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                            guard case .invalidArgument(name, _)? = error else {
                                Issue.record("\(name): \(error.debugDescription)")
                                continue
                            }
                        }
                    }
                    let huge = String(repeating: "x", count: 2 << 20)
                    for request in bothWays(program("/bin/true", huge)) {
                        let error = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(request) }
                        #expect(error == .failed(SystemError(code: E2BIG, operation: "spawn of /bin/true")))
                    }
                }
            }
        }

        @Test("A20: after other code has reaped a child, a signal for it does not reach the next process of its number")
        func numberOfAnother() async {
            guard access("/proc/sys/kernel/ns_last_pid", W_OK) == 0 else {
                CurrentProcess.report("not tested: A20, as this user may not say which number a process gets")
                return
            }
            await #expect(processExitsWith: .success) {
                let lastNumber = "/proc/sys/kernel/ns_last_pid"
                // Another process of the machine may take the number first: then no child here has it, and the test
                // tries again.
                for attempt in 1...1_000 {
                    let child = try ChildProcess.spawn(shell("exit 0"))
                    waitpid(child.processIdentifier, nil, 0)
                    let file = open(lastNumber, O_WRONLY | O_CLOEXEC)
                    writeAll(file, Array("\(child.processIdentifier - 1)".utf8))
                    let other = try ChildProcess.spawn(program("/bin/sleep", "1000"))
                    close(file)
                    let isTheSame = other.processIdentifier == child.processIdentifier
                    #expect(try !child.signal(SIGKILL))
                    #expect(try !child.signalGroup(SIGKILL))
                    #expect(child.waitForExit().status == .reapedElsewhere)
                    #expect(other.isRunning && kill(other.processIdentifier, 0) == 0)
                    try other.signal(SIGTERM)
                    #expect(other.waitForExit().status == .signaled(signal: SIGTERM, coreDumped: false))
                    if isTheSame { return }
                    #expect(attempt < 1_000, "no process got the number")
                }
            }
        }

        @Test("A22: where the user may have no more processes a spawn fails by name, and works again when he may")
        func noMoreProcesses() async {
            await #expect(processExitsWith: .success) {
                // The limit does not hold for the superuser.
                if geteuid() == 0 { #expect(setgid(65_534) == 0 && setuid(65_534) == 0) }
                // The spawning thread counts too, and must be there.
                let first = try ChildProcess.spawn(shell("exit 0"))
                #expect(first.waitForExit().status == .exited(code: 0))
                let resource = __rlimit_resource_t(__RLIMIT_NPROC.rawValue)
                var former = rlimit()
                getrlimit(resource, &former)
                var none = former
                none.rlim_cur = 0
                setrlimit(resource, &none)
                var (before, after) = (sigset_t(), sigset_t())
                pthread_sigmask(SIG_SETMASK, nil, &before)
                let error = #expect(throws: SpawnError.self) { _ = try ChildProcess.spawn(shell("exit 0")) }
                #expect(error == .failed(SystemError(code: EAGAIN, operation: "spawn of /bin/sh")))
                pthread_sigmask(SIG_SETMASK, nil, &after)
                for signal in 1..<65 as Range<CInt> {
                    #expect(sigismember(&before, signal) == sigismember(&after, signal))
                }
                setrlimit(resource, &former)
                let last = try ChildProcess.spawn(shell("exit 3"))
                #expect(last.waitForExit().status == .exited(code: 3))
            }
        }
    }
    #endif
}

#if os(Linux)
/// Reports what an exit test will not reach, because the output of an exit test is not shown.
private func reportDescriptorLimit() {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var former = rlimit()
    getrlimit(resource, &former)
    let highest = raisedDescriptorLimit(to: (1 << 16) + 1) - 1
    // Other tests go on with what they had.
    setrlimit(resource, &former)
    if highest < 1 << 16 { CurrentProcess.report("not tested: B1 above descriptor \(highest), this user's limit") }
}

/// How many descriptors this process may have then.
private func raisedDescriptorLimit(to wanted: Int) -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    getrlimit(resource, &limit)
    var higher = rlimit(rlim_cur: rlim_t(wanted), rlim_max: max(limit.rlim_max, rlim_t(wanted)))
    if setrlimit(resource, &higher) != 0 {
        higher = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
        setrlimit(resource, &higher)
    }
    getrlimit(resource, &limit)
    return Int(clamping: limit.rlim_cur)
}

private func blockAllSignals() {
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, nil)
}

/// Threads that do what must not be done between a fork and an exec: a child that did it would hang.
private func noise(until isOver: Mailbox<Bool>) throws -> [PlatformThread] {
    let works: [@Sendable () -> Void] = [
        { for size in 1..<200 { free(malloc(size * 97)) } },
        { for action in [SIG_IGN, SIG_DFL] { _ = signal(SIGUSR2, action) } },
        { fflush(nil) },
        { close(open("/dev/null", O_RDONLY)) },
    ]
    return try works.map { work in
        try PlatformThread.startJoinable(name: "noise") {
            while isOver.contents.isEmpty {
                work()
                // Leaves the processors to the spawning threads, too.
                sched_yield()
            }
        }
    }
}

/// Whether a child ended as it should, and, in every tenth call, with the descriptors that it should have.
private func spawnOne(_ number: Int) -> Bool {
    let isAudit = number % 10 == 0
    let requests = bothWays(isAudit ? program("/bin/ls", "/proc/self/fd") : program("/bin/true"))
    let request = requests[number / 10 % requests.count]
    guard isAudit else { return (try? ChildProcess.spawn(request))?.waitForExit().status == .exited(code: 0) }
    guard let (output, exit) = try? run(request) else { return false }
    return exit.status == .exited(code: 0) && descriptors(in: output) == [0, 1, 2, 3]
}
#endif
