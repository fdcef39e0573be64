import BridgePlatform
import BridgeTransport
import DomainEvents
import EventBridge
import NamedSockets
import TestSupport
import Testing

@testable import EventBridgeTesting

private struct Ordered: DomainEvent {}

/// An entrance through which a process comes while the entrance is being opened.
private final class EagerEntrance: Entrance, Sendable {
    private let stream: FirstUse
    private let arrived: @Sendable (Arrival) -> Void

    init(_ stream: FirstUse, _ arrived: @escaping @Sendable (Arrival) -> Void) {
        self.stream = stream
        self.arrived = arrived
    }

    func start() {
        let peer = UnixSocket.PeerCredentials(processIdentifier: CurrentProcess.identifier, user: 0, group: 0)
        // A host that lets the process in at once uses the stream during this call.
        arrived(Arrival(stream: stream, peer: peer, connection: 1, entrance: self))
    }

    func stop() {}
    func settle(_ input: ArrivalStateMachine.Input) {}
    func note(_ matter: SocketReport.Matter) {}
}

/// A stream that has ended, and notes what is true when a link begins to use it.
private final class FirstUse: ByteStream, Sendable {
    let findings = Collected<Bool>()
    private let look: @Sendable () -> Bool

    init(_ look: @escaping @Sendable () -> Bool) { self.look = look }

    /// A host's link asks for this once: when it begins, on the thread that starts it, and without a lock.
    var shelf: MemoryFile? {
        findings.add(look())
        return nil
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome { .endOfStream }
    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome { .endOfStream }
    func whenWritable(_ body: @escaping @Sendable () -> Void) {}
    func finishWriting() {}
    func finishReading() {}
    func close() {}
}

@Suite("A client that comes while the host begins", .timeLimit(.minutes(1)))
struct EarlyClientTests {
    @Test("is let in once events reach the workers, and not before: its first event would be lost in silence")
    func waits() async throws {
        let publisher = EventPublisher()
        let worker = InMemoryWorker("store", subscribes: [Ordered.self]) { publisher in
            [publisher.subscribe(to: Ordered.self) { _ in }]
        }
        let holder = Holder()
        let stream = FirstUse { holder.bridge?.namesWantedByWorkers.contains(Ordered.eventName) ?? false }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [worker.specification],
            launcher: InMemoryLauncher([worker]),
            control: ControlSocket("/not/used"),
            entrance: { _, arrived in EagerEntrance(stream, arrived) }
        )
        holder.bridge = bridge
        try await bridge.start()
        #expect(await stream.findings.wait { !$0.isEmpty }.first == true)
        holder.bridge = nil
        await bridge.shutdown()
    }

    /// Holds the bridge for a stream that is made before it.
    private final class Holder: @unchecked Sendable {
        // Sendable: set before the bridge starts, and after a link has used the stream.
        var bridge: BridgeHost?
    }
}
