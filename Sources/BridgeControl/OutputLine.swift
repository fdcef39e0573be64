/// A line that a worker has printed.
public struct OutputLine: Sendable, Hashable, Codable {
    /// The line's number among the lines of all workers of a host, from 1.
    public var number: UInt64
    /// The name of the worker; in a pool, the name of the member.
    public var worker: String
    /// Whether the worker printed the line on standard error.
    public var isError: Bool
    /// When the host read the line, in nanoseconds since 1970-01-01 00:00 UTC.
    public var nanosecondsSinceEpoch: UInt64
    /// The line as it was printed, without its end; bytes that are not UTF-8 are replaced.
    public var text: String
    /// Whether only the beginning of a long line was kept.
    public var isCut: Bool

    /// Makes a line.
    public init(
        number: UInt64,
        worker: String,
        isError: Bool = false,
        nanosecondsSinceEpoch: UInt64 = 0,
        text: String,
        isCut: Bool = false
    ) {
        self.number = number
        self.worker = worker
        self.isError = isError
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.text = text
        self.isCut = isCut
    }
}
