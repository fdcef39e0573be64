import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

extension PlatformTests {
    @Suite("A signal becomes a call on the poller")
    struct SignalSourceTests {
        @Test
        func eachSignalReachesTheHandler() throws {
            try withPoller { poller in
                let seen = Mailbox<(signal: CInt, isCurrent: Bool)>()
                let source = try SignalSource.install([SIGUSR1, SIGUSR2], on: poller) {
                    seen.put(($0, poller.isCurrent))
                }
                for (index, signal) in [SIGUSR2, SIGUSR1, SIGUSR1].enumerated() {
                    kill(getpid(), signal)
                    // Each signal is sent after the last has arrived, because the kernel merges equal pending signals.
                    let arrived = try seen.wait(for: index + 1)
                    #expect(arrived[index].signal == signal)
                }
                #expect(seen.contents.allSatisfy { $0.isCurrent })
                source.cancel()
            }
        }

        @Test
        func aSecondSourceIsRefusedUntilTheFirstIsCancelled() throws {
            try withPoller { poller in
                let source = try SignalSource.install([SIGUSR1], on: poller) { _ in }
                let error = #expect(throws: SystemError.self) {
                    _ = try SignalSource.install([SIGUSR2, SIGUSR1], on: poller) { _ in }
                }
                #expect(error?.code == EBUSY)
                source.cancel()
                source.cancel()
                let seen = Mailbox<CInt>()
                let next = try SignalSource.install([SIGUSR2, SIGUSR1], on: poller) { seen.put($0) }
                kill(getpid(), SIGUSR1)
                #expect(try seen.wait() == [SIGUSR1])
                next.cancel()
            }
        }

        @Test
        func cancellingPutsTheFormerDispositionBack() async {
            // In a process of its own, which ignores the signal to its end. In a shared process the main thread may
            // still be inside the handler of an earlier signal, with all others blocked. A blocked signal waits, and
            // would meet the disposition after this test: the process would die of it.
            await #expect(processExitsWith: .success) {
                try withPoller { poller in
                    signal(SIGUSR1, SIG_IGN)
                    let seen = Mailbox<CInt>()
                    try SignalSource.install([SIGUSR1], on: poller) { seen.put($0) }.cancel()
                    // Ignored again: otherwise this would end the process, or reach the handler.
                    kill(getpid(), SIGUSR1)
                    #expect(seen.contents.isEmpty)
                }
            }
        }

        @Test
        func anIgnoredHangUpStaysIgnored() async {
            // In a process of its own for the same reason.
            await #expect(processExitsWith: .success) {
                try withPoller { poller in
                    signal(SIGHUP, SIG_IGN)
                    let seen = Mailbox<CInt>()
                    let source = try SignalSource.install([SIGHUP, SIGUSR1], on: poller) { seen.put($0) }
                    kill(getpid(), SIGHUP)
                    kill(getpid(), SIGUSR1)
                    #expect(try seen.wait() == [SIGUSR1])
                    source.cancel()
                }
            }
        }
    }
}
