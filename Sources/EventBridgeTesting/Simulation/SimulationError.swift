/// A condition that did not hold in a simulated world.
public struct SimulationError: Error, Sendable, CustomStringConvertible {
    /// What did not hold, in a sentence.
    public let description: String

    /// Makes the error from a sentence that says what did not hold.
    public init(_ description: String) {
        self.description = description
    }
}
