/// Something that is fed with any bytes: by libFuzzer (`.ci/fuzz`), and with its corpus by the tests.
package protocol FuzzTarget {
    init()

    /// Feeds it; throws ``BrokenInvariant`` where something is not as it has to be for any bytes.
    func run(_ input: UnsafeRawBufferPointer) throws
}

/// What was found not to hold for some input.
package struct BrokenInvariant: Error, CustomStringConvertible {
    package let description: String
}

func require(_ condition: Bool, _ sentence: @autoclosure () -> String) throws(BrokenInvariant) {
    if !condition { throw BrokenInvariant(description: sentence()) }
}

extension FuzzTarget {
    /// For libFuzzer, which takes a trap for a finding, and has one thread.
    package func runOrTrap(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
        do {
            try run(UnsafeRawBufferPointer(start: start, count: count))
            return 0
        } catch {
            fatalError("\(error)")
        }
    }
}
