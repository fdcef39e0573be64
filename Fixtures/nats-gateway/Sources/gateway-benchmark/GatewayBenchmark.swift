import DomainEvents
import Foundation
import LocalBroker

/// Measures the way of events from one host through a gateway, a broker and another gateway to another host:
/// `gateway-benchmark [throughput] [latency] [absence]`.
@main
struct GatewayBenchmark {
    private static let works: [(name: String, run: @Sendable () async throws -> Void)] = [
        ("throughput", throughput), ("latency", latency), ("absence", absence),
    ]

    static func main() async throws {
        let names = CommandLine.arguments.dropFirst()
        if let unknown = names.first(where: { name in !works.contains { $0.name == name } }) {
            let known = works.map(\.name).joined(separator: ", ")
            FileHandle.standardError.write(Data("\"\(unknown)\" is not known; there are \(known)\n".utf8))
            exit(64)
        }
        guard Broker.isInstalled else { exit(69) }
        for work in works where names.isEmpty || names.contains(work.name) { try await work.run() }
    }

    /// Sends events one after the other, as fast as there is room.
    private static func throughput() async throws {
        let (warmUp, count) = (20_000, 200_000)
        let path = try await Path()
        try await path.send(1...warmUp)
        await path.wait(for: warmUp)
        let before = path.usage()
        let start = Path.now()
        try await path.send(warmUp + 1...warmUp + count)
        await path.wait(for: warmUp + count)
        let seconds = Double(Path.now() - start) / 1e9
        let counts = path.counts
        print("throughput: \(Int(Double(count) / seconds)) events/s, \(count) events, \(counts.disordered) not in turn")
        for (name, usage) in path.usage() {
            guard let first = before.first(where: { $0.name == name })?.usage else { continue }
            let time = (usage.microseconds - first.microseconds) / Double(count)
            print("  \(name): \(text(time)) us of processor time for an event, \(text(usage.own)) MiB of its own")
        }
        await path.stop()
    }

    /// Publishes 20 events a second.
    private static func latency() async throws {
        let (warmUp, count) = (100, 600)
        let path = try await Path()
        // A thread of its own publishes, because a task that sleeps wakes up several threads, on the processors that
        // the event needs.
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                for number in 1...warmUp + count {
                    if number == warmUp + 1 { _ = path.takeDelays() }
                    path.publisher.publish(Measured(number: number, published: Path.now()))
                    Thread.sleep(forTimeInterval: 0.05)
                }
                continuation.resume()
            }
        }
        await path.wait(for: warmUp + count)
        let delays = path.takeDelays().map { Double($0) / 1e6 }
        func share(_ part: Double) -> String { text(delays[min(delays.count - 1, Int(part * Double(delays.count)))]) }
        print("latency: \(share(0.5)) ms p50, \(share(0.9)) ms p90, \(share(0.99)) ms p99, of \(delays.count) events")
        await path.stop()
    }

    /// The broker is away for 20 s; the events of an hour (20 a second) are published as fast as there is room.
    private static func absence() async throws {
        let (warmUp, count) = (1_000, 72_000)
        let path = try await Path()
        try await path.send(1...warmUp)
        await path.wait(for: warmUp)
        path.broker.kill()
        let sent = Task { try await path.send(warmUp + 1...warmUp + count) }
        // This is long enough to fill the outbox and the gateway; from then on the publisher waits.
        try await Task.sleep(for: .seconds(20))
        printMemory("absence, broker away", path)
        try path.broker.start()
        try await sent.value
        await path.wait(for: warmUp + count)
        let (arrived, disordered) = path.counts
        printMemory("absence, broker back", path)
        let lost = warmUp + count - arrived
        print("absence: \(count) events published meanwhile, \(lost) lost, \(disordered) not in turn")
        await path.stop()
    }

    private static func printMemory(_ when: String, _ path: Path) {
        let memory = path.usage().filter { $0.name.hasSuffix("porter") }
            .map { name, usage in
                let all = "\(text(usage.resident)) with the pages of libraries, \(text(usage.peak)) at most"
                return "\(name) \(text(usage.own)) MiB of its own, \(all)"
            }
        print("\(when): \(memory.joined(separator: "; "))")
    }

    private static func text(_ number: Double) -> String { String(format: "%.2f", number) }
}
