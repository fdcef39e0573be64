import BridgePlatform
import Locks
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Interrupts threads in their system calls: by a signal whose handler does nothing, and after which no call restarts
/// by itself.
///
/// A thread is signalled only while it is open to that, so no thread that has ended is signalled.
package final class Interruptions: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private let ending: Condition
    private var random: SeededGenerator
    private var exposed: [pthread_t] = []
    private var hasEnded = false
    private var thread: PlatformThread?

    /// How many signals the threads have taken so far.
    private static let taken = Atomic<Int>(0)
    package static var count: Int { taken.load(ordering: .relaxed) }

    /// Installs the handler for the rest of the process's life, because a signal may still be on its way.
    private static let isInstalled: Bool = {
        // Initialised before it is used inside a signal.
        taken.store(0, ordering: .relaxed)
        var action = sigaction()
        let handler: @convention(c) (CInt) -> Void = { _ in taken.wrappingAdd(1, ordering: .relaxed) }
        #if canImport(Glibc)
        action.__sigaction_handler.sa_handler = handler
        #else
        action.__sigaction_u.__sa_handler = handler
        #endif
        return sigaction(SIGUSR2, &action, nil) == 0
    }()

    package init(random: SeededGenerator) throws {
        self.random = random
        ending = Condition(lock: lock)
        guard Self.isInstalled else { throw SystemError.current("catching SIGUSR2") }
        let thread = try PlatformThread.startJoinable(name: "interruptions") { self.run() }
        lock.withLock { self.thread = thread }
    }

    /// Runs `body` with the calling thread open to interruptions.
    package func exposing<Result>(_ body: () -> Result) -> Result {
        let caller = pthread_self()
        var signals = sigset_t()
        var former = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGUSR2)
        lock.withLock { exposed.append(caller) }
        // The threads of links have every signal blocked.
        pthread_sigmask(SIG_UNBLOCK, &signals, &former)
        defer {
            pthread_sigmask(SIG_SETMASK, &former, nil)
            lock.withLock {
                if let index = exposed.firstIndex(where: { pthread_equal($0, caller) != 0 }) {
                    exposed.remove(at: index)
                }
            }
        }
        return body()
    }

    private func run() {
        lock.withLock {
            while !hasEnded {
                let pause = UInt64.random(in: 20_000...500_000, using: &random)
                ending.wait(untilNanoseconds: MonotonicClock.now() + pause)
                for thread in exposed { pthread_kill(thread, SIGUSR2) }
            }
        }
    }

    package func end() {
        let thread = lock.withLock {
            hasEnded = true
            ending.broadcast()
            return self.thread
        }
        thread?.join()
    }
}
