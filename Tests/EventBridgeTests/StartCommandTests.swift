import BridgeClient
import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

private struct CrateMoved: DomainEvent {
    let number: Int
}

@Suite("The commands start and signal", .serialized, .timeLimit(.minutes(5)))
struct StartCommandTests {
    /// A worker that does nothing with the events that it gets.
    private func store(_ name: String = "store", pool: WorkerPool? = nil) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [CrateMoved.self], pool: pool) { publisher in
            [publisher.subscribe(to: CrateMoved.self) { _ in }]
        }
    }

    private func refusal(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            #expect((error as? BridgeClientError)?.code == .refused)
            return "\(error)"
        }
    }

    @Test("a worker that is down is started, and one that runs is left alone and named")
    func start() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store(), store("render", pool: WorkerPool(2))])
        let client = try await home.attach(EventPublisher())
        #expect(try await client.start("store")?.hasPrefix("worker \"store\" runs already") == true)
        #expect(bridge.status.map(\.starts) == [1, 1, 1])
        try await client.stop("store")
        #expect(try await client.start("store") == nil)
        #expect(bridge.status.first?.state == .ready)
        #expect(bridge.status.map(\.starts) == [2, 1, 1])
        // Only the member of the pool that is down is started.
        try await client.stop("render.1")
        let remark = try await client.start("render")
        #expect(remark?.contains("render.2") == true && remark?.contains("render.1") == false, "\(remark ?? "")")
        #expect(bridge.status.map(\.starts) == [2, 2, 1])
        let unknown = await refusal { try await client.start("stoer") }
        #expect(unknown?.hasSuffix("refuses: there is no worker \"stoer\"") == true)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test(
        "a signal is refused for a worker that is down, for a name that there is not, and for a number that is none's"
    )
    func signalRefused() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store()])
        let client = try await home.attach(EventPublisher())
        for number in [0, -1, 1_000, .min, .max] as [Int32] {
            let refused = await refusal { try await client.signal("store", number) }
            #expect(refused?.hasSuffix("refuses: found the signal \(number), expected one that has a name") == true)
        }
        let unknown = await refusal { try await client.signal("stoer", ChildSignal.terminate.number) }
        #expect(unknown?.hasSuffix("refuses: there is no worker \"stoer\"") == true)
        try await client.stop("store")
        let down = await refusal { try await client.signal("store", ChildSignal.terminate.number) }
        #expect(down?.hasSuffix("refuses: worker \"store\" has no process, it is stopped") == true, "\(down ?? "")")
        #expect(bridge.status.map(\.starts) == [1])
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }
}
