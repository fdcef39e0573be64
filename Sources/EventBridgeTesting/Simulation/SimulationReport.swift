/// The totals of a simulation's runs.
public struct SimulationReport: Sendable {
    /// How many worlds were run.
    public private(set) var runs = 0
    /// How much time has passed in all worlds together.
    public private(set) var simulatedTime: Duration = .zero
    /// How many steps the worlds took.
    public private(set) var steps = 0
    /// How often each kind of fault happened, by its name.
    public private(set) var faults: [String: Int] = [:]
    /// The places where runs started tasks outside their worlds, as with `Task.detached`.
    ///
    /// No seed decides what these tasks do, so two runs of one seed may differ.
    public private(set) var escapes: Set<String> = []
    /// The number of runs in which no fault happened or no event arrived, so no fault was tested.
    public private(set) var untested = 0
    /// For each condition of ``SimulationWorld/sometimes(_:_:)``, the number of runs in which it held.
    public private(set) var reached: [String: Int] = [:]

    mutating func add(_ outcome: SimulationOutcome) {
        runs += 1
        simulatedTime += .nanoseconds(Int64(clamping: outcome.nanoseconds))
        steps += Int(outcome.steps)
        faults.merge(outcome.met) { $0 + $1 }
        escapes.formUnion(outcome.escapes)
        if outcome.met.isEmpty || outcome.arrivals == 0 { untested += 1 }
        reached.merge(outcome.reached.mapValues { $0 ? 1 : 0 }) { $0 + $1 }
    }

    /// Throws if a condition held in no run, or if faults were allowed and ten or more runs were all ``untested``.
    func check(_ simulation: BridgeSimulation) throws {
        for (name, times) in reached.sorted(by: { $0.key < $1.key }) where times == 0 {
            throw SimulationError("in \(runs) runs it never came about that \(name)")
        }
        if !simulation.faults.isEmpty, runs >= 10, untested == runs {
            throw SimulationError("in \(runs) runs no fault met an event: nothing was tested")
        }
    }
}
