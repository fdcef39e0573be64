import BridgePlatform
import BridgeTransport
import DomainEvents
import Locks

/// Sends events as fast as it can, and lets them leave in batches of a fixed size.
///
/// On a link that nothing holds back, the size of a batch depends on how fast the machine is, and so does what an event
/// costs.
final class Flood: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    /// The number of events in a batch: about as many as a flood brings in the 50 microseconds in which a link gathers.
    private static let batch: Int64 = 256

    private let lock = Lock()
    private var gates: [Gate] = []

    /// Puts a gate before one end of a stream over which the events go.
    func gated(_ stream: any ByteStream, _ poller: Poller) -> GatedStream {
        let gate = Gate(poller)
        lock.withLock { gates.append(gate) }
        return GatedStream(stream, gate)
    }

    func send<Event: PathEvent>(_ type: Event.Type, _ begun: TravelBegun, by publisher: EventPublisher) async throws {
        let gates = lock.withLock { self.gates }
        for gate in gates { gate.close() }
        for number in 0..<begun.count {
            let id = begun.first + number
            try await publisher.send(Event(id: id, title: PathTitle.of(id)))
            if (number + 1) % Self.batch == 0 {
                for gate in gates { await gate.open(isClosedAgain: true) }
            }
        }
        for gate in gates { await gate.open(isClosedAgain: false) }
    }
}
