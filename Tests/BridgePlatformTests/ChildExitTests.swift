import BridgePlatform
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension PlatformTests {
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

        #if os(Linux)
        @Test("A child is killed with its group, and its end noticed, even where nothing more can be watched")
        func endedUnwatched() async {
            await #expect(processExitsWith: .success) {
                let poller = try Poller(name: "unwatched test")
                guard MissingSystemCalls.installForWatches() else {
                    return CurrentProcess.report("not tested: an unwatched child, as this system has no filters")
                }
                let pipe = try FileDescriptor.pipe()
                let exits = Mailbox<ChildExit>()
                var request = shell("sleep 1000 & echo; exec sleep 1000")
                request.standardOutput = .descriptor(pipe.writing.rawValue)
                let child = try ChildProcess.spawn(request)
                pipe.writing.close()
                var byte: UInt8 = 0
                #expect(read(pipe.reading.rawValue, &byte, 1) == 1)
                let error = #expect(throws: SystemError.self) { try child.onExit(on: poller) { exits.put($0) } }
                #expect(error?.code == ENOSPC)
                child.forceEnd(on: poller) { exits.put($0) }
                #expect(try exits.wait()[0].status == .signaled(signal: SIGKILL, coreDumped: false))
                #expect(kill(child.processIdentifier, 0) != 0)
                // The grandchild holds the pipe, so it can end only because the grandchild ends.
                #expect(readToEnd(pipe.reading.rawValue).isEmpty)
                pipe.reading.close()
                poller.stop()
                #expect(exits.contents.count == 1)
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
        func anObserverIsTakenAfterOneThatCouldNotBe() throws {
            let stopped = try Poller(name: "stopped")
            stopped.stop()
            try withPoller { poller in
                let child = try ChildProcess.spawn(shell("exit 0"))
                let exits = Mailbox<ChildExit>()
                #expect(throws: SystemError.self) { try child.onExit(on: stopped) { exits.put($0) } }
                try child.onExit(on: poller) { exits.put($0) }
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
