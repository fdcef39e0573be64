import BridgePlatform
import DomainEvents
import EventBridge
import ExampleDomain
import Supervision
import TestSupport
import Testing

#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Holds a process as a debugger does, until it is let go.
private final class Debugger: Sendable {
    private let end = Barrier()

    /// `PTRACE_SEIZE` of `sys/ptrace.h`.
    private static let seize = 0x4206

    /// Nil if this machine does not let a process hold another one.
    init?(holding process: Int32) async {
        // `ptrace` is variadic in its header, so Swift does not import it.
        typealias Trace = @convention(c) (Int, Int, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int
        guard let symbol = dlsym(nil, "ptrace") else { return nil }
        let trace = unsafeBitCast(symbol, to: Trace.self)
        let answers = Collected<Bool>()
        let end = end
        // When this thread ends, the kernel lets go of the process that it holds.
        let thread: Void? = try? PlatformThread.start(name: "debugger") {
            answers.add(trace(Self.seize, Int(process), nil, nil) == 0)
            end.wait()
        }
        guard thread != nil, await answers.wait(until: { !$0.isEmpty }) == [true] else {
            end.open()
            return nil
        }
    }

    func letGo() { end.open() }
}

@Suite("Workers that a debugger holds", .serialized)
struct DebuggerTests {
    private let publisher = EventPublisher()

    @Test(
        "N10: a worker that stands still in a debugger is not ended, and goes on with what it had",
        .timeLimit(.minutes(5))
    )
    func heldWorkerIsLeftAlone() async throws {
        let reports = WorkerReports(publisher)
        var specification = faulty(
            "none",
            // Enough time that a worker which only waits for a processor does not seem silent.
            heartbeat: Heartbeat(every: .milliseconds(100), tolerance: 20),
            subscribes: [WorkRequested.self]
        )
        specification.limits.handlerDeadline = .seconds(2)
        let bridge = try BridgeHost(publisher: publisher, workers: [specification])
        try await bridge.start()
        let pid = try #require(bridge.status.first?.pid)
        #expect(try await ProcessSignal.stopEntirely(pid))
        if let debugger = await Debugger(holding: pid) {
            #expect(ProcessTracing.isTraced(pid))
            publisher.publish(WorkRequested(number: 1, text: ""))
            // The event is overdue at a look that comes at most 2.5 s after it, or later on a slow machine.
            try await Task.sleep(for: .seconds(4))
            #expect(bridge.status.map(\.state) == [.ready])
            #expect(reports.done.all.isEmpty)
            // The debugger holds the main thread alone, which handles no event. It lets go only when the event is
            // handled: a worker that nothing holds would be ended if it was not given a processor for two seconds.
            #expect(ProcessSignal.goOn(pid))
            #expect(await reports.done.wait { !$0.isEmpty }.map(\.attempt) == [1])
            debugger.letGo()
            #expect(bridge.status.map(\.pid) == [pid])
            #expect(reports.exits.all.isEmpty)
        } else {
            CurrentProcess.report("not tested: N10, as this machine does not let a process hold another one")
        }
        await bridge.shutdown()
        reports.end()
    }
}
#endif
