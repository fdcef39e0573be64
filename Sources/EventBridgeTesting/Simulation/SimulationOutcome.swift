/// The result of one world's run.
struct SimulationOutcome: Sendable {
    let seed: UInt64
    var failure: SimulationFailure?
    /// The digest of the run's trace up to the end of the test's body and of the hosts that the body had started.
    let digest: UInt64
    let steps: UInt64
    let switches: UInt64
    /// How long the run waited for work that had left the world, in nanoseconds.
    let waitedOutside: UInt64
    let nanoseconds: UInt64
    let met: [String: Int]
    let arrivals: Int
    let reached: [String: Bool]
    let made: Choices.List
    let unmet: Int
    let trace: [Trace.Entry]
    /// How many threads did not come to their end.
    let leftThreads: Int
    /// The places in code where work left the world.
    let escapes: [String]

    init(_ world: SimulationWorld, _ end: Scheduler.End) {
        let scheduler = world.core.scheduler
        seed = scheduler.choices.seed
        let sealed = world.sealed ?? SimulationWorld.Seal(scheduler)
        digest = sealed.digest
        steps = sealed.steps
        nanoseconds = sealed.nanoseconds
        switches = scheduler.switches
        waitedOutside = scheduler.waitedOutside
        met = world.core.met
        arrivals = world.core.arrivals
        reached = world.core.reached
        made = scheduler.choices.made
        unmet = scheduler.choices.unmet
        trace = scheduler.trace.entries
        leftThreads = scheduler.leftThreads
        escapes = scheduler.escapes
        var reason = world.core.broken
        switch end {
        case .finished: break
        case .deadlock(let threads):
            reason = reason ?? "nothing can go on:\n  " + threads.joined(separator: "\n  ")
        case .exhausted(let text): reason = reason ?? "the run has no end: \(text)"
        }
        failure = reason.map { SimulationFailure(reason: $0, world: world.core, nanoseconds: sealed.nanoseconds) }
    }
}
