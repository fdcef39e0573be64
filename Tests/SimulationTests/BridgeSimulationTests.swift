import BridgePlatform
import DomainEvents
import EventBridge
import TestSupport
import Testing

@testable import EventBridgeTesting

@Suite(.timeLimit(.minutes(10)))
struct BridgeSimulationTests {
    private static let firstSeed = CurrentProcess.environment("EVENT_BRIDGE_FIRST_SEED").flatMap { UInt64($0) } ?? 1

    /// The seeds of this many worlds; after the greatest seed comes 0.
    private static func seeds(_ count: Int) -> [UInt64] { (0..<UInt64(count)).map { firstSeed &+ $0 } }

    @Test("Without faults everything comes true", arguments: Scenarios.names)
    func calm(_ name: String) async throws {
        try await BridgeSimulation(seeds: rounds(10), from: Self.firstSeed, faults: .none).run(scenario(name))
    }

    @Test("Whatever happens, what was promised comes true", arguments: Scenarios.names)
    func faults(_ name: String) async throws {
        let began = ContinuousClock.now
        let report = try await BridgeSimulation(seeds: rounds(20), from: Self.firstSeed).run(scenario(name))
        print("\(name): \(report) in \(ContinuousClock.now - began)")
    }

    @Test("Each seed twice has the same trace", arguments: Scenarios.names)
    func sameTrace(_ name: String) async throws {
        let simulation = BridgeSimulation()
        for seed in Self.seeds(rounds(5)) {
            let first = await simulation.outcome(of: Choices(seed: seed), keepsTrace: true, scenario(name))
            let second = await simulation.outcome(of: Choices(seed: seed), keepsTrace: true, scenario(name))
            guard first.digest != second.digest else { continue }
            Issue.record("\(name), seed \(seed): \(difference(first.trace, second.trace))")
            return
        }
    }

    /// Prints what `.ci/simulation.py` compares between processes.
    @Test("Digests of a few runs", .enabled(if: CurrentProcess.environment("EVENT_BRIDGE_DIGESTS") != nil))
    func digests() async throws {
        for name in Scenarios.names {
            for seed in Self.seeds(rounds(5)) {
                let outcome = await BridgeSimulation().outcome(of: Choices(seed: seed), scenario(name))
                print("digest \(name) \(seed) \(String(outcome.digest, radix: 16)) \(outcome.steps)")
            }
        }
    }

    private func scenario(_ name: String) -> Scenarios.Body {
        guard let found = Scenarios.all.first(where: { $0.name == name }) else { fatalError(name) }
        return found.body
    }

    private func difference(_ first: [Trace.Entry], _ second: [Trace.Entry]) -> String {
        let index = zip(first, second).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        guard let index else { return "\(first.count) and \(second.count) steps" }
        let before = first[max(0, index - 12)..<index].map { "  \($0)" }.joined(separator: "\n")
        func rest(_ all: [Trace.Entry]) -> String {
            all[index..<min(all.count, index + 6)].map { "  \($0)" }.joined(separator: "\n")
        }
        return "step \(index)\n\(before)\nfirst\n\(rest(first))\nsecond\n\(rest(second))"
    }
}
