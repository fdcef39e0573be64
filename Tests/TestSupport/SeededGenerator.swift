import BridgePlatform
import Supervision

/// A repeatable source of random values.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    package let seed: UInt64
    private var source: SplitMix64

    package init(seed: UInt64) {
        self.seed = seed
        source = SplitMix64(seed: seed)
    }

    /// A generator with the seed from `EVENT_BRIDGE_TEST_SEED`, or else a random one; the call prints the seed, so that
    /// a failure can be run again.
    package static func announced() -> SeededGenerator {
        let given = CurrentProcess.environment("EVENT_BRIDGE_TEST_SEED").flatMap { UInt64($0) }
        let generator = SeededGenerator(seed: given ?? .random(in: 0 ... .max))
        print("EVENT_BRIDGE_TEST_SEED=\(generator.seed)")
        return generator
    }

    package mutating func next() -> UInt64 { source.next() }

    package mutating func below(_ bound: Int) -> Int { bound < 1 ? 0 : Int.random(in: 0..<bound, using: &self) }
}
