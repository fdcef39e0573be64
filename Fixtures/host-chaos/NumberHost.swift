import BridgePlatform
import DomainEvents
import EventBridge
import Journal

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A number that every worker gets.
struct Numbered: DomainEvent {
    let number: UInt64
}

/// A life of the host, whose journal records each number before `send` returns.
enum NumberHost {
    enum Life: String {
        /// Publishes until it is killed.
        case publish
        /// Publishes nothing, and ends when the workers have settled all events of earlier lives.
        case drain
    }

    static func run(_ life: Life, in folder: String) async throws {
        let tally = try Tally(in: folder)
        let journal = try EventJournal(
            at: folder + "/journal",
            retention: JournalRetention(bytes: 64 << 20),
            segmentBytes: 1 << 20
        )
        // The journal records only numbers, each at the position of the same number.
        var number = journal.recovery.lastPosition
        guard number >= tally.accepted else {
            print("the journal ends at \(number), but \(tally.accepted) was accepted")
            CurrentProcess.exit(1)
        }
        let publisher = EventPublisher()
        try journal.record(Numbered.self, of: publisher)
        let host = try BridgeHost(publisher: publisher, workers: Tally.workers.map { worker($0, folder) })
        try await host.start()
        switch life {
        case .publish:
            while true {
                number += 1
                try await publisher.send(Numbered(number: number))
                tally.accepted = number
            }
        case .drain:
            // A host that does not come to rest in this many seconds ends by a signal, and so fails the run.
            alarm(300)
            await host.waitUntilIdle()
            await host.shutdown()
            await journal.close()
        }
    }

    private static func worker(_ name: String, _ folder: String) -> WorkerSpecification {
        var limits = WorkerLimits()
        // A kill may hit a worker during any event; no event may be given up for it.
        limits.strikes = nil
        return WorkerSpecification(
            name,
            executable: .beside("host-chaos"),
            arguments: [folder, name],
            environment: CurrentProcess.sanitizerOptions,
            subscribes: [Numbered.self],
            publishes: [],
            limits: limits
        )
    }
}
