/// One dead letter of a host: an event that was given up for one process.
public struct DeadLetterReport: Sendable, Hashable, Codable {
    /// The most reasons that a report has: the latest ones.
    public static let mostReasons = 16
    /// The largest payload that a report contains, in bytes; a report leaves out a larger payload.
    public static let mostPayloadBytes = 64 << 10

    /// The number by which the letter is shown, redelivered and discarded; without a journal, each host begins at 1.
    public var letter: UInt64
    /// The name of the event.
    public var event: String
    /// The identity of the event, as `EventID` spells it.
    public var id: String
    /// The process that the event was for: a worker, or `host`.
    public var worker: String
    /// The cause: `refused`, `crashes` or `workerUnavailable`.
    ///
    /// A later version may have further causes.
    public var cause: String
    /// The latest reasons in words, at most ``mostReasons``, oldest first.
    public var reasons: [String]
    /// How often the event was delivered to the process.
    public var attempts: Int
    /// How many crashes, hanging handlers and broken protocols of the process were blamed on the event.
    public var strikes: Int
    /// When the event was given up, in nanoseconds since 1970-01-01 00:00 UTC.
    public var nanosecondsSinceEpoch: UInt64
    /// The length of the event in its encoded form, in bytes.
    public var payloadBytes: Int
    /// The event in its encoded form, one CBOR item; nil in a list, and if it is longer than ``mostPayloadBytes``.
    public var payload: [UInt8]?

    /// Makes a report.
    public init(
        letter: UInt64,
        event: String,
        id: String,
        worker: String,
        cause: String,
        reasons: [String] = [],
        attempts: Int = 0,
        strikes: Int = 0,
        nanosecondsSinceEpoch: UInt64 = 0,
        payloadBytes: Int = 0,
        payload: [UInt8]? = nil
    ) {
        self.letter = letter
        self.event = event
        self.id = id
        self.worker = worker
        self.cause = cause
        self.reasons = reasons
        self.attempts = attempts
        self.strikes = strikes
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.payloadBytes = payloadBytes
        self.payload = payload
    }
}
