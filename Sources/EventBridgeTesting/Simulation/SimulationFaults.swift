/// What may go wrong in a simulation.
///
/// Nearly every seed leaves out some of these kinds altogether, so in some runs a kind comes without the others.
public struct SimulationFaults: OptionSet, Sendable, Hashable {
    /// One bit for each kind.
    public let rawValue: Int

    /// Makes a set of these kinds.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Workers take up to two seconds to start.
    public static let lateStarts = SimulationFaults(rawValue: 1 << 0)
    /// Workers and clients end at any step, by a signal.
    public static let crashes = SimulationFaults(rawValue: 1 << 1)
    /// Workers and clients stand still for up to ten seconds, and then go on.
    public static let stops = SimulationFaults(rawValue: 1 << 2)
    /// The host notices the end of a process late: its exit, the end of its stream, or both.
    public static let lateExits = SimulationFaults(rawValue: 1 << 3)
    /// Streams carry no more than 4,095 bytes at a time, and often far fewer, so frames come in pieces.
    public static let splits = SimulationFaults(rawValue: 1 << 4)
    /// Bytes on a stream arrive late.
    public static let delays = SimulationFaults(rawValue: 1 << 5)
    /// A stream's buffer may hold as little as 128 bytes, so writers find no room.
    public static let narrowStreams = SimulationFaults(rawValue: 1 << 6)

    /// The process of a ``SimulatedHost`` ends at any step, and is started again.
    public static let hostKills = SimulationFaults(rawValue: 1 << 7)
    /// Workers and clients read only 256 bytes to 512 KiB a second.
    public static let slowReaders = SimulationFaults(rawValue: 1 << 8)
    /// The wall clock is set forward and back, and the whole machine stands still for up to 30 seconds.
    public static let clockJumps = SimulationFaults(rawValue: 1 << 9)
    /// Workers and clients end by themselves at any step, with any status but 78, which asks for no restart.
    public static let exits = SimulationFaults(rawValue: 1 << 10)

    /// Everything works as it should.
    public static let none: SimulationFaults = []
    /// All kinds of faults.
    public static let all: SimulationFaults = [
        .lateStarts, .crashes, .stops, .lateExits, .splits, .delays, .narrowStreams, .hostKills, .slowReaders,
        .clockJumps, .exits,
    ]

    /// How many kinds there are.
    static let kinds = 11
}
