import DomainEvents
import EventBridgeTesting
import ExampleDomain
import Locks
import Supervision
import TestSupport
import Testing

@testable import EventBridge

private struct Held: DomainEvent {}

@Suite("The end of a bridge", .timeLimit(.minutes(5)))
struct ShutdownTests {
    private let publisher = EventPublisher()

    @Test("A second shutdown returns when the first one does, and not while a handler is still at work")
    func twice() async throws {
        let (begun, gate) = (Collected<Bool>(), Collected<Bool>())
        let bridge = try await BridgeHost.inMemory(publisher) { publisher in
            [
                publisher.subscribe(to: Held.self) { _ async in
                    begun.add(true)
                    await gate.wait(for: 1)
                }
            ]
        }
        publisher.publish(Held())
        await begun.wait(for: 1)
        let first = Task { await bridge.shutdown(drainingWithin: patience) }
        while bridge.lifecycle.isRunning { await Task.yield() }
        let seen = Collected<[ChildState]>()
        let second = Task {
            let report = await bridge.shutdown()
            seen.add(bridge.status.map(\.state))
            return report
        }
        while seen.all.isEmpty, bridge.lifecycle.lock.withLock({ bridge.lifecycle.waiters.isEmpty }) {
            await Task.yield()
        }
        gate.add(true)
        #expect(await first.value.isComplete)
        #expect(await second.value.isComplete)
        #expect(seen.all == [[.stopped]])
        // Nothing is left to wait for.
        #expect(await bridge.shutdown().isComplete)
    }

    @Test("A process that the host ends by a signal gets no further event: it waits, and its delivery is its first")
    func signalledProcess() async throws {
        let reports = WorkerReports(publisher)
        let signals = ShutdownSequence(steps: [.signal(.terminate, grace: patience)])
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("none", shutdown: signals, subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        let pid = try #require(bridge.status.first?.pid)
        // So the process ends when this test says so, and answers nothing.
        #expect(try await ProcessSignal.stopEntirely(pid))
        bridge.stop("faulty")
        for await update in bridge.statusUpdates where update["faulty"]?.state == .stopping { break }
        publisher.publish(WorkRequested(number: 1, text: ""))
        #expect(ProcessSignal.kill(pid))
        await reports.exits.wait(for: 1)
        bridge.restart("faulty")
        #expect(await reports.done.wait(for: 1).map(\.attempt) == [1])
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "A bridge that is shut down and was never started has stopped, and tells no more states",
        arguments: [false, true]
    )
    func neverStarted(hasFailed: Bool) async throws {
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("none", subscribes: [Held.self])],
            // Nothing can be made beneath a file that is no directory.
            control: hasFailed ? ControlSocket("/dev/null/control.sock") : nil
        )
        if hasFailed {
            let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
            #expect(error?.code == .control)
        }
        let (stopped, updatesEnded) = (Collected<Bool>(), Collected<Bool>())
        Task {
            await bridge.waitUntilStopped()
            stopped.add(true)
        }
        Task {
            for await _ in bridge.statusUpdates {}
            updatesEnded.add(true)
        }
        #expect(await bridge.shutdown().isComplete)
        #expect(await stopped.wait(for: 1) == [true])
        #expect(await updatesEnded.wait(for: 1) == [true])
        #expect(bridge.status.map(\.state) == [.stopped])
        let error = await #expect(throws: BridgeError.self) { try await bridge.start() }
        #expect(error?.code == .wrongState)
    }
}
