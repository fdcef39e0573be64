import BridgePlatform
import BridgeTransport
import DomainEvents
import FoundationEssentials
import Supervision
import TestSupport
import Testing

@testable import EventBridge

/// A journal that only says where outboxes lie.
private final class OutboxPlace: IdleRecorder {
    let outboxDirectory: String?

    init(_ directory: String) {
        outboxDirectory = directory
    }
}

/// A process that has a child, and whose end cannot be watched.
private struct UnwatchedProcess: WorkerProcess {
    let base: any WorkerProcess
    let hasChild: @Sendable () -> Bool

    var processIdentifier: Int32 { base.processIdentifier }

    var usage: ResourceUsage? { base.usage }

    func signal(_ signal: ChildSignal) { base.signal(signal) }

    func signal(_ signal: SignalNumber) -> Bool { base.signal(signal) }

    func onExit(_ handler: @escaping @Sendable (ExitReason) -> Void) throws {
        waitUntil(hasChild)
        // ENOSPC, as where the user watches as many descriptors as the user may.
        throw SystemError(code: 28, operation: "watching a process")
    }

    func forceEnd(_ handler: @escaping @Sendable () -> Void) { base.forceEnd(handler) }
}

/// Starts processes of which the first cannot be watched.
private final class UnwatchedLauncher: WorkerLauncher {
    let pids = Collected<Int32>()
    private let base = ProcessLauncher(.none)
    private let hasChild: @Sendable () -> Bool

    init(_ hasChild: @escaping @Sendable () -> Bool) {
        self.hasChild = hasChild
    }

    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        base.launch(order) { [pids, hasChild] result in
            completion(
                result.map { worker in
                    pids.add(worker.process.processIdentifier)
                    if pids.count > 1 { return worker }
                    let process = UnwatchedProcess(base: worker.process, hasChild: hasChild)
                    return LaunchedWorker(stream: worker.stream, process: process)
                }
            )
        }
    }

    func worker(markedOn process: Int32) -> String? { base.worker(markedOn: process) }

    func end(on poller: Poller) async { await base.end(on: poller) }
}

@Suite("A worker's process whose end cannot be watched", .serialized, .timeLimit(.minutes(5)))
struct UnwatchedProcessTests {
    @Test("is killed with its group, leaves neither a zombie nor an outbox, and is replaced")
    func leavesNothing() async throws {
        let directory = try TemporaryDirectory()
        let (children, outboxes) = (directory.path + "/children", directory.path + "/outboxes")
        // The numbers of the processes that the worker leaves in its group, a line for each start.
        let left: @Sendable () -> [Int32] = {
            let text = (try? String(contentsOfFile: children, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").compactMap { Int32($0) }
        }
        let publisher = EventPublisher()
        let journal = OutboxPlace(outboxes)
        publisher.recording.offer(journal)
        let reports = WorkerReports(publisher)
        var worker = faulty("none", subscribes: [])
        let program = try CurrentProcess.executableDirectory() + "/faulty-worker"
        worker.child.executable = .path("/bin/sh")
        worker.child.arguments = [
            "-c", "sleep 600 & echo $! >> \(children); exec \"$0\" --misbehave none", program,
        ]
        let launcher = UnwatchedLauncher { !left().isEmpty }
        let bridge = try BridgeHost(publisher: publisher, workers: [worker], launcher: launcher)
        try await bridge.start()
        let exit = try #require(await reports.exits.wait(for: 1).first)
        #expect(exit.reason.contains("its process cannot be watched: watching a process failed"))
        #expect(exit.pid == launcher.pids.all.first)
        let pid = try #require(launcher.pids.all.first)
        try #require(!ProcessSignal.isAlive(pid), "it is in the process table still")
        // The signal to the group was sent before; the child may be about to end.
        let child = try #require(left().first)
        while ProcessSignal.isRunning(child) { await Task.yield() }
        await bridge.shutdown()
        reports.end()
        #expect(try FileManager.default.contentsOfDirectory(atPath: outboxes).isEmpty)
        withExtendedLifetime(journal) {}
    }
}
