import BridgeProtocol
import ChaosLedger
import EventBridge

/// How much memory the host may need for each worker at most; the worker's limits and publishers decide.
enum MemoryBound {
    /// The most memory, in bytes, of control frames that a worker has not read.
    private static let control = 4 << 20

    /// The bound for one worker.
    ///
    /// It is the sum of
    /// - the hard limit; twice if workers publish for this one, because as many bytes of events may be recovered from
    ///   the outboxes of dead workers;
    /// - the window of each worker that publishes for this one;
    /// - the outbox of each worker with which this one exchanges events both ways, because workers in a circle do not
    ///   wait for each other;
    /// - the control frames that the worker has not read.
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
