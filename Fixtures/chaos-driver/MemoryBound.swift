import BridgeProtocol
import ChaosLedger
import EventBridge

/// How much the host may hold for its workers at most, from their limits and their publishers.
enum MemoryBound {
    /// The most memory of control frames that a worker does not read.
    private static let control = 4 << 20

    /// The bound for one worker.
    ///
    /// It is the sum of the hard limit, twice if workers publish for this one, because the events that a dead worker
    /// has left are taken up to that; the window of each worker that publishes for this one; and the outbox of each of
    /// those for which this one also publishes, because workers in a circle do not wait for each other.
    static func bytes(for specification: WorkerSpecification) -> Int {
        guard let party = Party(name: specification.name) else { return 0 }
        let limits = LinkLimits()
        let publishers = publishers(for: party)
        let circle = publishers.filter { self.publishers(for: $0).contains(party) }
        let waiting = specification.limits.outboxHardLimit * (publishers.isEmpty ? 1 : 2)
        return waiting + publishers.count * limits.windowBytes + circle.count * limits.outboxBytes + control
    }

    /// The workers that publish events for a party.
    private static func publishers(for party: Party) -> Set<Party> {
        let origins = ChaosStream.allCases.filter { $0.receivers.contains(party) }.map(\.origin)
        return Set(origins).subtracting([.host, .client, party])
    }
}
