import BridgePlatform
import BridgeTransport
import DomainEvents
import Supervision
import TestSupport
import Testing

@testable import EventBridge
@testable import EventBridgeTesting

/// The host's end of a link over which no frame comes, and that only once the host knows of the process's end.
private final class LateGarbage: ByteStream {
    private let processEnded = ErrandGate()
    private let given = Collected<Void>()

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        processEnded.block()
        guard given.all.isEmpty else { return .endOfStream }
        given.add(())
        let garbage = Array("not a frame, of no protocol".utf8)
        buffer.copyBytes(from: garbage)
        return .transferred(garbage.count)
    }

    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome { .transferred(pieces.reduce(0) { $0 + $1.count }) }
    func whenWritable(_ body: @escaping @Sendable () -> Void) {}
    func finishWriting() {}
    /// A host's link calls this when it learns that the process has ended.
    func finishReading() { processEnded.open() }
    func close() { processEnded.open() }
}

/// A process that has ended by itself, because the host broke off.
private struct DepartedProcess: WorkerProcess {
    let processIdentifier: Int32 = 1 << 30

    func signal(_ signal: ChildSignal) {}
    func onExit(_ handler: @escaping @Sendable (ExitReason) -> Void) { handler(.exited(status: 76)) }
}

/// Starts a worker in memory, and for each successor a process that has ended and left garbage in its link.
private struct GarbledSuccessors: WorkerLauncher {
    let launcher: InMemoryLauncher

    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        guard order.isSuccessor else { return launcher.launch(order, completion: completion) }
        completion(.success(LaunchedWorker(stream: LateGarbage(), process: DepartedProcess())))
    }
}

@Suite("A breach of the protocol that the host reads after the end of the process", .timeLimit(.minutes(5)))
struct BreachBeforeEndTests {
    @Test("is the reason why the process does not take over, not the status with which it ended because of the breach")
    func reasonOfReplacement() async throws {
        let worker = InMemoryWorker("worker") { _ in [] }
        let bridge = try BridgeHost(
            publisher: EventPublisher(),
            workers: [worker.specification],
            launcher: GarbledSuccessors(launcher: InMemoryLauncher([worker]))
        )
        try await bridge.start()
        let error = await #expect(throws: BridgeError.self) {
            try await bridge.replace("worker", with: worker.specification)
        }
        #expect(error?.description.contains("broke the protocol") == true, "\(error?.description ?? "")")
        #expect(bridge.statistics.first?.violations == 1)
        await bridge.shutdown(drainingWithin: .zero)
    }
}
