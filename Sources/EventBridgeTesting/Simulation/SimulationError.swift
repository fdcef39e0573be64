/// What did not hold in a simulated world.
public struct SimulationError: Error, Sendable, CustomStringConvertible {
    /// What did not hold.
    public let description: String

    /// Says what did not hold.
    public init(_ description: String) {
        self.description = description
    }
}
