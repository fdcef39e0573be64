/// The resources that a child's process has used in its life, including those of its own children for which it waited.
public struct ResourceUsage: Hashable, Sendable, Codable {
    /// Processor time that all threads of the process together spent in its own code.
    public var userTime: Duration

    /// Processor time that the operating system spent on the process's behalf.
    public var systemTime: Duration

    /// The most bytes of memory that the process had in RAM at once; memory that it shared with others counts too.
    ///
    /// The peak is nil where the system does not report the child's own peak. Linux counts from before the child's
    /// program began, when the child still had the memory of the process that started it. So a child that never had
    /// more memory than that process has no peak.
    public var peakMemory: Int?

    /// Makes a record.
    public init(userTime: Duration, systemTime: Duration, peakMemory: Int?) {
        self.userTime = userTime
        self.systemTime = systemTime
        self.peakMemory = peakMemory
    }
}

extension ResourceUsage: CustomStringConvertible {
    /// A phrase such as `1.25 s of processor time, at most 14.0 MiB`, or `0.03 s of processor time`.
    public var description: String {
        let (seconds, attoseconds) = (userTime + systemTime).components
        let hundredths = attoseconds / 10_000_000_000_000_000
        let time = "\(seconds).\(hundredths < 10 ? "0" : "")\(hundredths) s of processor time"
        guard let peakMemory else { return time }
        let tenths = (peakMemory % (1 << 20)) * 10 / (1 << 20)
        return "\(time), at most \(peakMemory >> 20).\(tenths) MiB"
    }
}

/// A limit of the operating system, because of which a process was killed or has ended itself.
public enum ResourceLimit: String, Hashable, Sendable, Codable {
    /// RLIMIT_CPU: the process has used more processor time than it may.
    case processorTime

    /// RLIMIT_DATA: the process had as much memory of its own as it may have, and got no more.
    case memory

    /// RLIMIT_FSIZE: the process has written more into one file than it may.
    case fileSize
}

extension ResourceLimit: CustomStringConvertible {
    /// A phrase such as `its limit of processor time`.
    public var description: String {
        switch self {
        case .processorTime: "its limit of processor time"
        case .memory: "its limit of memory"
        case .fileSize: "its limit for the size of a file"
        }
    }
}
