import BridgeProtocol
import ChaosLedger
import EventBridge

/// How much the host may hold for its workers at the most, from their limits and from who publishes for them.
enum MemoryBound {
    /// What control frames may take that a worker does not read.
    private static let control = 4 << 20

    /// For one worker.
    ///
    /// The hard limit, twice while it is down, as what a dead worker has left for it is taken up to that; the window of
    /// each worker that publishes for it, and once more the outbox of each for which it publishes in its turn: workers
    /// in a circle are not made to wait for each other.
    static func bytes(for specification: WorkerSpecification) -> Int {
        guard let party = Party(name: specification.name) else { return 0 }
        let limits = LinkLimits()
        let publishers = publishers(for: party)
        let circle = publishers.filter { self.publishers(for: $0).contains(party) }
        let waiting = specification.limits.outboxHardLimit * (publishers.isEmpty ? 1 : 2)
        return waiting + publishers.count * limits.windowBytes + circle.count * limits.outboxBytes + control
    }

    /// The workers that publish what a party gets.
    private static func publishers(for party: Party) -> Set<Party> {
        let origins = ChaosStream.allCases.filter { $0.receivers.contains(party) }.map(\.origin)
        return Set(origins).subtracting([.host, .client, party])
    }
}
