import TestSupport
import Testing

@testable import BridgePlatform

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

#if os(Linux)
extension PlatformTests {
    @Suite("A poller's queue waits where the system refuses a call")
    struct EventQueueTests {
        @Test("A wait brings its events where a sandbox refuses the call with a nanosecond timeout")
        func preciseWaitRefused() async {
            await #expect(processExitsWith: .success) {
                guard MissingSystemCalls.installForPreciseWaits() else {
                    return CurrentProcess.report("not tested: a refused epoll_pwait2, as this system has no filters")
                }
                let queue = try EventQueue()
                let pipe = try FileDescriptor.pipe()
                try queue.add(pipe.reading.rawValue, .readable, token: 7)
                // The pipe stays readable, so each wait has to find it.
                writeAll(pipe.writing.rawValue, [1])
                for limit in [nil, 1_000_000, 60_000_000_000] as [UInt64?] {
                    let count = queue.wait(atMost: limit)
                    let tokens = (0..<count).compactMap { queue.event(at: $0)?.token }
                    #expect(tokens == [7])
                }
            }
        }

        @Test("A queue that cannot watch its own wake-up is not made, and frees its memory once")
        func watchRefused() async {
            await #expect(processExitsWith: .success) {
                guard MissingSystemCalls.installForWatches() else {
                    return CurrentProcess.report("not tested: a refused watch, as this system has no filters")
                }
                // The C library ends a process that frees memory twice, at the latest when it hands the memory out.
                for _ in 0..<10 {
                    let error = #expect(throws: SystemError.self) { _ = try EventQueue() }
                    #expect(error?.code == ENOSPC)
                }
            }
        }
    }
}
#endif
