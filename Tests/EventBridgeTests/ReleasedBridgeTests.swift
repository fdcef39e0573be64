import BridgePlatform
import DomainEvents
import EventBridge
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Whether this process has a child, or the zombie of one.
private func hasChild() -> Bool {
    var information = siginfo_t()
    return waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0
}

@Suite("A bridge that is released without a shutdown", .serialized, .timeLimit(.minutes(5)))
struct ReleasedBridgeTests {
    @Test("A24: leaves no process and no zombie, neither of its workers nor of its guard")
    func leavesNothing() async {
        // In a process of its own, where no other test has children.
        await #expect(processExitsWith: .success) {
            var bridge: BridgeHost? = try BridgeHost(
                publisher: EventPublisher(),
                workers: (0..<3).map { faulty("none", name: "w\($0)", subscribes: []) }
            )
            try await bridge?.start()
            #expect(bridge?.status.compactMap(\.pid).count == 3)
            #expect(hasChild())
            bridge = nil
            await onThreads(1) { _ in waitUntil { !hasChild() } }
        }
    }

    @Test("A24: leaves none either if its workers are just being started")
    func whileStarting() async {
        await #expect(processExitsWith: .success) {
            for round in 0..<rounds(30) {
                var bridge: BridgeHost? = try BridgeHost(
                    publisher: EventPublisher(),
                    workers: (0..<3).map { faulty("none", name: "w\($0)", subscribes: []) }
                )
                let starting = Task { [bridge] in _ = try? await bridge?.start() }
                for _ in 0..<round { await Task.yield() }
                starting.cancel()
                await starting.value
                bridge = nil
                await onThreads(1) { _ in
                    // Processes are started in order: the guard before the first of these two, and the workers, which
                    // wait for the guard, before the second.
                    for _ in 0..<2 { _ = try? ChildProcess.spawn(SpawnRequest(executable: "/bin/true")).waitForExit() }
                    waitUntil { !hasChild() }
                }
            }
        }
    }
}
