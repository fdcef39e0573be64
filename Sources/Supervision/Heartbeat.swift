/// Says how often a child has to show that it is alive, and how many heartbeats in a row it may miss.
public struct Heartbeat: Hashable, Sendable {
    /// The time between two heartbeats.
    public var every: Duration

    /// The number of heartbeats in a row that the child may miss; after that it counts as unresponsive.
    public var tolerance: Int

    /// Makes a heartbeat: by default one a second, and 3 may be missed, so a suspended child is found within 4 s.
    public init(every: Duration = .seconds(1), tolerance: Int = 3) {
        self.every = every
        self.tolerance = tolerance
    }

    /// Finds every mistake, each as a sentence; empty if there is none.
    public func validate() -> [String] {
        var mistakes = every.mistakes(as: "the heartbeat's interval", mayBeZero: false)
        if tolerance < 1 {
            mistakes.append("the heartbeat's tolerance is \(tolerance); it must be 1 or more")
        }
        return mistakes
    }
}
