import FuzzTargets
import Testing

@Suite("Inputs that are made of others")
struct InputMutatorTests {
    private static let corpus: [[UInt8]] = [[1, 2, 3, 4], Array(repeating: 7, count: 40), []]

    private static func inputs(_ count: Int, seed: UInt64, longest: Int = 64) -> [[UInt8]] {
        var mutator = InputMutator(corpus: corpus, longest: longest, seed: seed)
        return (0..<count).map { _ in mutator.next() }
    }

    @Test("The same seed makes the same inputs, and another one others")
    func seeds() {
        #expect(Self.inputs(1_000, seed: 1) == Self.inputs(1_000, seed: 1))
        #expect(Self.inputs(1_000, seed: 1) != Self.inputs(1_000, seed: 2))
    }

    @Test("No input is longer than it may be, and few come twice", arguments: [1, 8, 64])
    func lengths(longest: Int) {
        let inputs = Self.inputs(10_000, seed: 3, longest: longest)
        #expect(inputs.allSatisfy { $0.count <= longest })
        #expect(inputs.contains { $0.count == longest })
        if longest == 64 { #expect(Set(inputs).count > 8_000) }
    }

    @Test("Without a corpus there are inputs all the same")
    func noCorpus() {
        var mutator = InputMutator(corpus: [], seed: 4)
        #expect(Set((0..<100).map { _ in mutator.next() }).count > 90)
    }
}
