/// The failure of a run of a simulation.
public struct SimulationFailure: Error, Sendable, CustomStringConvertible {
    /// The seed whose run failed; only ``choices`` repeats the shrunk run, which this failure describes.
    public let seed: UInt64
    /// Why the run failed, in a sentence.
    public let reason: String
    /// What happened in the run, line by line, each with the time since the beginning of the run.
    public let story: [String]
    /// The run's choices that were not the tame ones, as `EVENT_BRIDGE_CHOICES` takes them.
    public let choices: String
    /// The number of choices in ``choices``.
    public let choiceCount: Int
    /// The number of choices before the simulation left out the choices that the failure does not need.
    public internal(set) var choicesBefore: Int
    /// How long the run had lasted in its own time.
    public var time: Duration { .nanoseconds(Int64(clamping: nanoseconds)) }
    let nanoseconds: UInt64

    /// The path of the run's timeline, or why it was not written; nil without ``BridgeSimulation/timeline``.
    public internal(set) var timeline: String?

    init(reason: String, world: WorldCore, nanoseconds: UInt64) {
        seed = world.scheduler.choices.seed
        self.reason = reason
        let made = world.scheduler.choices.made
        choices = Choices.text(seed: seed, made)
        choiceCount = made.count
        choicesBefore = made.count
        self.nanoseconds = nanoseconds
        story = world.story.map { line in
            let microseconds = (line.time - Scheduler.beginning) / 1_000
            return "\(microseconds / 1_000).\(String(microseconds % 1_000 + 1_000).dropFirst()) ms  \(line.text)"
        }
    }

    /// The failure with the last lines of its story, and the way to repeat it.
    public var description: String {
        let lines = story.suffix(60).map { "  " + $0 }.joined(separator: "\n")
        let end = timeline.map { "\ntimeline: \($0)" } ?? ""
        return """
            seed \(seed) failed: \(reason)
            after \(time) of its own time, \(choicesBefore) choices → shrunk to \(choiceCount)
            \(lines)
            repeat: EVENT_BRIDGE_CHOICES='\(choices)' swift test --filter …\(end)
            """
    }
}
