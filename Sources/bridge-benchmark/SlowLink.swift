import DomainEvents
import EventBridge
import FoundationEssentials

/// Keeps the outbox of a slow worker full while other work is measured.
final class SlowLink: Sendable {
    static let worker = "slow"

    private let publisher: EventPublisher
    private let isDone = BenchmarkFlag()

    init(_ publisher: EventPublisher) {
        self.publisher = publisher
    }

    /// Publishes so many events that `send` has to wait for room, and then sends one whenever there is room.
    func fill() {
        let load = BenchmarkLoad(id: 0, filler: Data(repeating: 0x61, count: 1_000))
        for _ in 0..<5_000 { publisher.publish(load) }
        Task.detached { [publisher, isDone] in
            // `send` throws when the bridge is shut down.
            while !isDone.isSet { try await publisher.send(load) }
        }
    }

    /// Stops the producer; ends the program with an error if the link was not slow.
    func end(_ bridge: BridgeHost) {
        isDone.set()
        guard let slow = bridge.statistics.first(where: { $0.worker == Self.worker })?.sent, slow.waitingBytes > 1 << 20
        else { Report.fail("the slow worker has kept up") }
    }
}
