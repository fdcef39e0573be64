import BridgePlatform
import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import Supervision
import TestSupport
import Testing

@Suite("A bridge's whole life in one call", .serialized, .timeLimit(.minutes(5)))
struct BridgeRunTests {
    private let publisher = EventPublisher()

    @Test("ends with the cancellation of its task, when what was published has been handled")
    func cancellation() async throws {
        let reports = WorkerReports(publisher)
        let worker = faulty("slow:100ms", subscribes: [WorkRequested.self])
        let bridge = try BridgeHost(publisher: publisher, workers: [worker])
        let running = Task { try await bridge.run() }
        await reports.ready.wait { $0.count == 1 }
        publisher.publish(WorkRequested(number: 1, text: ""))
        running.cancel()
        try await running.value
        #expect(reports.done.all.map(\.number) == [1])
        #expect(bridge.status.map(\.state) == [.stopped])
        reports.end()
    }

    @Test("throws what its start throws, and leaves no worker behind")
    func failedStart() async throws {
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("none", name: "sound", subscribes: [WorkRequested.self]),
                faulty("exit-early", name: "broken", restart: .temporary, subscribes: []),
            ]
        )
        let error = await #expect(throws: BridgeError.self) { try await bridge.run() }
        #expect(error?.worker == "broken")
        #expect(bridge.status.allSatisfy { $0.state == .stopped })
    }

    @Test("ends when its significant worker has")
    func automaticShutdown() async throws {
        let reports = WorkerReports(publisher)
        var leader = faulty("exit-on:end", name: "leader", restart: .temporary, subscribes: [WorkRequested.self])
        leader.child.isSignificant = true
        let follower = faulty("none", name: "follower", subscribes: [])
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [follower, leader],
            automaticShutdown: .anySignificant
        )
        let running = Task { try await bridge.run() }
        await reports.ready.wait { $0.count == 2 }
        publisher.publish(WorkRequested(number: 1, text: "end"))
        try await running.value
        #expect(bridge.status.allSatisfy { $0.state == .stopped })
        reports.end()
    }

    @Test("ends with the first signal, and is escalated by those that follow")
    func signals() async throws {
        let reports = WorkerReports(publisher)
        // After the call the signals have their former effect again: a late signal must not end the tests.
        ProcessSignal.ignoreTermination(true)
        defer { ProcessSignal.ignoreTermination(false) }
        let stubborn = faulty("ignore-sigterm", subscribes: [])
        let bridge = try BridgeHost(publisher: publisher, workers: [stubborn])
        let running = Task { try await bridge.runUntilSignalled(drainingWithin: .zero) }
        await reports.ready.wait { $0.count == 1 }
        let hasEnded = Collected<Bool>()
        let signalling = Task {
            // The worker has minutes for each step: only the third signal ends it.
            var count = 0
            while hasEnded.all.isEmpty {
                #expect(ProcessSignal.terminate(CurrentProcess.identifier))
                count += 1
                // Longer than the 100 ms within which signals count as one.
                try? await Task.sleep(for: .milliseconds(150))
            }
            return count
        }
        let result = await running.result
        hasEnded.add(true)
        #expect(await signalling.value >= 3)
        #expect(try result.get().isComplete)
        #expect(reports.exits.all.map(\.reason) == ["killed by SIGKILL (9)"])
        reports.end()
    }

    @Test("leaves a bridge alone that was started before")
    func startedBefore() async throws {
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [])])
        try await bridge.start()
        let error = await #expect(throws: BridgeError.self) { try await bridge.run() }
        #expect(error?.code == .wrongState)
        #expect(bridge.status.map(\.state) == [.ready])
        await bridge.shutdown()
    }

    @Test("refuses to share its signals, and starts nothing then")
    func sharedSignals() async throws {
        let poller = try Poller(name: "test")
        let other = try SignalSource.install([OperatingSystem.interrupt], on: poller) { _ in }
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [])])
        let error = await #expect(throws: BridgeError.self) { try await bridge.runUntilSignalled() }
        #expect(error?.code == .system)
        #expect(bridge.status.map(\.state) == [.notStarted])
        other.cancel()
        poller.stop()
    }
}
