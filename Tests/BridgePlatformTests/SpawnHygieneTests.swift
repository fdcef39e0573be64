import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

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
}
