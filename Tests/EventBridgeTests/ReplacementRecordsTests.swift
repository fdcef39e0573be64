import DomainEvents
import ExampleDomain
import Foundation
import Locks
import Supervision
import TestSupport
import Testing

@testable import EventBridge
@testable import EventRouting

@Suite("What a bridge remembers of replacements", .serialized)
struct ReplacementRecordsTests {
    private let publisher = EventPublisher()

    @Test("Nothing of a new process that could not be started: restarts leave nothing behind", .timeLimit(.minutes(5)))
    func missingProgram() async throws {
        let ready = Collected<WorkerReady>()
        let subscription = publisher.subscribe(to: WorkerReady.self) { ready.add($0) }
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [WorkRequested.self])])
        try await bridge.start()
        var missing = faulty("none", subscribes: [WorkRequested.self])
        missing.child.executable = .path("/nonexistent/worker")
        await #expect(throws: BridgeError.self) { try await bridge.replace("faulty", with: missing) }
        let peer = try #require(bridge.core.peers.first)
        let hasSuccessor = peer.lock.withLock { peer.successor != nil }
        #expect(!hasSuccessor)
        for count in 2...4 {
            bridge.restart("faulty")
            await ready.wait(for: count)
        }
        let departed = peer.lock.withLock { peer.departed.count }
        #expect(departed == 0)
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("A pool's member is replaced by what it runs by when its turn comes", .timeLimit(.minutes(5)))
    func changedMeanwhile() async throws {
        let done = Collected<(number: Int64, member: String)>()
        let subscription = publisher.subscribe(to: WorkDone.self) { event in
            done.add((event.number, EventContext.current?.id.origin ?? ""))
        }
        var pooled = faulty("hang-on:hang", name: "pool", shutdown: .killing, subscribes: [WorkRequested.self])
        pooled.pool = WorkerPool(2).keyed(WorkRequested.self, byField: "number")
        let bridge = try BridgeHost(publisher: publisher, workers: [pooled])
        try await bridge.start()
        for number in Int64(0)..<20 { publisher.publish(WorkRequested(number: number, text: "")) }
        await done.wait(for: 20)
        let number = try #require(done.all.first { $0.member == "pool.1" }).number

        publisher.publish(WorkRequested(number: number, text: "hang"))
        let replacing = Task { try await bridge.replace("pool", handingOverWithin: patience) }
        var handing: Int32?
        for await update in bridge.statusUpdates {
            guard let status = update["pool.1"], status.state == .draining else { continue }
            handing = status.pid
            break
        }
        var changed = pooled
        changed.child.environment["VARIANT"] = "2"
        let changes = try await bridge.apply([changed], finishingWithin: patience)
        let failure = try #require(changes.failures.first)
        #expect(changes.failures.count == 1 && failure.worker == "pool.1")
        #expect((failure as any Error).localizedDescription == failure.description)
        #expect(ProcessSignal.kill(try #require(handing)))
        try await replacing.value
        #expect(bridge.core.specification(1).child.environment["VARIANT"] == "2")
        await bridge.shutdown(drainingWithin: .zero)
        subscription.cancel()
    }
}
