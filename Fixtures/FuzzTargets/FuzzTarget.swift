/// A function that takes any bytes: libFuzzer feeds it (`.ci/fuzz`), and the tests feed it its corpus.
package protocol FuzzTarget {
    init()

    /// Runs the function on one input; throws ``BrokenInvariant`` if a condition that must hold for any bytes does not
    /// hold.
    func run(_ input: UnsafeRawBufferPointer) throws
}

/// A condition that did not hold for some input.
package struct BrokenInvariant: Error, CustomStringConvertible {
    package let description: String
}

func require(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(BrokenInvariant) {
    if !condition { throw BrokenInvariant(description: sentence()) }
}

extension FuzzTarget {
    /// Traps if an invariant is broken: libFuzzer takes a trap for a finding.
    package func runOrTrap(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
        do {
            try run(UnsafeRawBufferPointer(start: start, count: count))
            return 0
        } catch {
            fatalError("\(error)")
        }
    }
}
