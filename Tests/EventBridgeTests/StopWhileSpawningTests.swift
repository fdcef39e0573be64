import BridgeTransport
import DomainEvents
import Supervision
import TestSupport
import Testing

@testable import EventBridge

/// A process that ends when it is signalled, and reports the signal.
private final class ObedientProcess: WorkerProcess {
    let processIdentifier: Int32 = 1 << 30
    private let signals: Collected<ChildSignal>
    private let exits = Collected<@Sendable (ExitReason) -> Void>()
    /// The other end of its link.
    private let stream: any ByteStream

    init(_ stream: any ByteStream, signals: Collected<ChildSignal>) {
        self.stream = stream
        self.signals = signals
    }

    func signal(_ signal: ChildSignal) {
        signals.add(signal)
        stream.close()
        for handler in exits.all { handler(.signaled(number: 15, coreDumped: false)) }
    }

    func onExit(_ handler: @escaping @Sendable (ExitReason) -> Void) {
        exits.add(handler)
        if !signals.all.isEmpty { handler(.signaled(number: 15, coreDumped: false)) }
    }
}

/// Starts a worker when the test says so.
private final class PatientLauncher: WorkerLauncher {
    let orders = Collected<@Sendable () -> Void>()
    let signals = Collected<ChildSignal>()

    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        let (near, far) = MemoryStream.pair(poller: order.poller)
        let process = ObedientProcess(far, signals: signals)
        orders.add { completion(.success(LaunchedWorker(stream: near, process: process))) }
    }
}

@Suite("A bridge that is stopped while a worker is being spawned", .timeLimit(.minutes(5)))
struct StopWhileSpawningTests {
    /// A worker of which no time is over during a test.
    private static func patient(_ name: String) -> WorkerSpecification {
        WorkerSpecification(
            name,
            executable: .path("in memory"),
            handshakeTimeout: .seconds(3_600),
            shutdown: .draining(grace: .seconds(3_600), terminate: .seconds(3_600))
        )
    }

    @Test("signals it as soon as there is a process, and does not wait for its time to be over")
    func signalIsNotLost() async throws {
        let launcher = PatientLauncher()
        let bridge = try BridgeHost(
            publisher: EventPublisher(),
            workers: [Self.patient("late")],
            launcher: launcher
        )
        let starting = Task { try await bridge.start() }
        await launcher.orders.wait { $0.count == 1 }
        let stopping = Task { await bridge.shutdown(drainingWithin: .zero) }
        // Nothing is lost, whether the stop or the process comes first.
        await #expect(throws: (any Error).self) { try await starting.value }
        launcher.orders.all[0]()
        _ = await stopping.value
        #expect(launcher.signals.all == [.terminate])
    }

    @Test("whose start was cancelled ends that call at once, and runs on until it is shut down")
    func startIsCancelled() async throws {
        let launcher = PatientLauncher()
        let bridge = try BridgeHost(
            publisher: EventPublisher(),
            workers: [Self.patient("silent")],
            launcher: launcher
        )
        let early = Task { try await bridge.start() }
        early.cancel()
        // Either nothing was started, or the worker was asked for and the wait is over.
        await #expect(throws: CancellationError.self) { try await early.value }
        let starting = launcher.orders.all.isEmpty ? Task { try await bridge.start() } : nil
        await launcher.orders.wait { $0.count == 1 }
        if let starting {
            starting.cancel()
            await #expect(throws: CancellationError.self) { try await starting.value }
        }
        launcher.orders.all[0]()
        #expect(launcher.signals.all.isEmpty, "what was started runs on")
        await bridge.shutdown(drainingWithin: .zero)
        #expect(launcher.signals.all == [.terminate])
    }

    @Test("A24: and released, kills the worker as soon as there is a process")
    func released() async throws {
        let launcher = PatientLauncher()
        var bridge: BridgeHost? = try BridgeHost(
            publisher: EventPublisher(),
            workers: [WorkerSpecification("late", executable: .path("in memory"), handshakeTimeout: .seconds(3_600))],
            launcher: launcher
        )
        weak let host = bridge
        let starting = Task { [bridge] in try await bridge?.start() }
        await launcher.orders.wait { $0.count == 1 }
        starting.cancel()
        await #expect(throws: CancellationError.self) { try await starting.value }
        bridge = nil
        while host != nil, !Task.isCancelled { await Task.yield() }
        launcher.orders.all[0]()
        #expect(await launcher.signals.wait { !$0.isEmpty } == [.kill])
    }

    @Test("A24: and abandoned, starts no process again, even if the end of a process asks for that at once")
    func abandoned() async throws {
        let launcher = PatientLauncher()
        let bridge = try BridgeHost(
            publisher: EventPublisher(),
            workers: [
                WorkerSpecification(
                    "killed",
                    executable: .path("in memory"),
                    backoff: .exponential(startsAtOnce: true),
                    handshakeTimeout: .seconds(3_600)
                )
            ],
            launcher: launcher
        )
        let starting = Task { try await bridge.start() }
        await launcher.orders.wait { $0.count == 1 }
        // A start that still goes on would ask for the stop, after which no end of a process asks for a start.
        starting.cancel()
        await #expect(throws: CancellationError.self) { try await starting.value }
        launcher.orders.all[0]()
        bridge.abandon()
        #expect(launcher.signals.all == [.kill])
        // The thread of the link reports the end, after which the supervisor asks for the next start.
        while bridge.status.first?.starts == 1, !Task.isCancelled { await Task.yield() }
        await withCheckedContinuation { continuation in
            guard let supervisor = bridge.core.supervisor else { return continuation.resume() }
            supervisor.whenPerformed { continuation.resume() }
        }
        #expect(launcher.orders.count == 1)
    }
}
