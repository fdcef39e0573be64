import DomainEvents
import EventBridge
import Foundation
import LocalBroker
import Supervision
import Synchronization

/// Two hosts in this process with a gateway each, and a broker; gateways and broker are processes of their own.
final class Path: Sendable {
    /// What arrived at paris.
    private struct Tally {
        /// Whether the event with the number of the index has arrived.
        var isThere: [Bool] = []
        /// How many events have arrived, each counted once.
        var count = 0
        var last = 0
        /// Arrivals that were not the next event.
        var disordered = 0
        var delays: [UInt64] = []
        var waiting: (count: Int, CheckedContinuation<Void, Never>)?
    }

    let broker: Broker
    /// The publisher of berlin's host.
    let publisher = EventPublisher()
    private let other = EventPublisher()
    private let berlin: BridgeHost
    private let paris: BridgeHost
    private let arrivals = Mutex(Tally())
    private let processes = Mutex<[String: pid_t]>([:])
    private let subscriptions = Mutex<[Subscription]>([])

    init() async throws {
        broker = try Broker()
        try broker.start()
        berlin = try Self.host(publisher, ["--node", "berlin", "--export", Measured.eventName], broker)
        paris = try Self.host(other, ["--node", "paris", "--import", "berlin=\(Measured.eventName)"], broker)
        subscriptions.withLock { list in
            list.append(other.subscribe(to: Measured.self) { [self] in arrive($0) })
            for (name, publisher) in [("exporter", publisher), ("importer", other)] {
                list.append(
                    publisher.subscribe(to: WorkerReady.self) { [self] ready in
                        processes.withLock { $0[name] = ready.pid }
                    }
                )
                list.append(
                    publisher.subscribe(to: WorkerExited.self) { exited in print("\(name): \(exited.reason)") }
                )
            }
        }
        try await paris.start()
        try await berlin.start()
    }

    private static func host(
        _ publisher: EventPublisher,
        _ arguments: [String],
        _ broker: Broker
    ) throws -> BridgeHost {
        var limits = WorkerLimits()
        limits.strikes = nil
        let gateway = WorkerSpecification(
            "gateway",
            executable: .beside("nats-gateway"),
            arguments: arguments + ["--url", broker.url],
            subscribes: arguments.contains("--export") ? [Measured.self] : [],
            publishes: arguments.contains("--import") ? [Measured.self] : [],
            mayImport: true,
            limits: limits
        )
        return try BridgeHost(publisher: publisher, workers: [gateway])
    }

    func stop() async {
        await berlin.shutdown()
        await paris.shutdown()
        subscriptions.withLock { $0 = [] }
        broker.kill()
    }

    /// The nanoseconds of the clock that both hosts share.
    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Sends the events with these numbers, as fast as there is room.
    func send(_ numbers: ClosedRange<Int>) async throws {
        for number in numbers { _ = try await publisher.send(Measured(number: number, published: Self.now())) }
    }

    /// Returns when `count` events have arrived since the start.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = arrivals.withLock { arrivals in
                if arrivals.count < count { arrivals.waiting = (count, continuation) }
                return arrivals.count >= count
            }
            if isThere { continuation.resume() }
        }
    }

    /// How many events have arrived, each counted once, and how many arrivals were not the next one.
    var counts: (arrived: Int, disordered: Int) { arrivals.withLock { ($0.count, $0.disordered) } }

    /// The times from publishing to arrival since the last call, in nanoseconds, in ascending order.
    func takeDelays() -> [UInt64] {
        arrivals.withLock { arrivals in
            defer { arrivals.delays = [] }
            return arrivals.delays.sorted()
        }
    }

    /// What every process that takes part has used.
    func usage() -> [(name: String, usage: ProcessUsage)] {
        var all = processes.withLock(\.self)
        all["broker"] = broker.identifier
        all["both hosts"] = getpid()
        return all.sorted { $0.key < $1.key }.compactMap { name, process in
            ProcessUsage(of: process).map { (name, $0) }
        }
    }

    private func arrive(_ event: Measured) {
        let now = Self.now()
        let waiting = arrivals.withLock { arrivals -> CheckedContinuation<Void, Never>? in
            while arrivals.isThere.count <= event.number { arrivals.isThere.append(false) }
            if !arrivals.isThere[event.number] { arrivals.count += 1 }
            arrivals.isThere[event.number] = true
            if event.number != arrivals.last + 1 { arrivals.disordered += 1 }
            arrivals.last = max(arrivals.last, event.number)
            arrivals.delays.append(now - min(now, event.published))
            guard let waiting = arrivals.waiting, arrivals.count >= waiting.count else { return nil }
            arrivals.waiting = nil
            return waiting.1
        }
        waiting?.resume()
    }
}
