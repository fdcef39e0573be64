import CBOR
import JSONText
import Journal

/// The events of a journal that `supervisor journal show` shows, or that `supervisor journal replay` replays.
struct JournalSelection: Sendable, Hashable {
    static let options = ["--after", "--limit", "--event", "--from", "--since", "--until"]

    /// The events after this position are selected; 0 is before the first event.
    var position: UInt64 = 0
    /// How many events are selected at most; nil for no limit.
    var limit: UInt64?
    var query = JournalQuery()

    init(after position: UInt64 = 0, limit: UInt64? = nil, event: String? = nil, origin: String? = nil) {
        (self.position, self.limit) = (position, limit)
        query.names = event.map { [$0] } ?? []
        query.origin = origin
    }

    init(_ given: SubcommandArguments) throws(UsageError) {
        self.init(
            after: try JournalOptions.number("--after", of: given, JournalOptions.expectedPosition) ?? 0,
            limit: try JournalOptions.number("--limit", of: given, JournalOptions.expectedCount),
            event: given.values["--event"],
            origin: given.values["--from"]
        )
        query.since = try Self.time("--since", of: given)
        query.until = try Self.time("--until", of: given)
    }

    /// The time that was given with an option, in nanoseconds since 1970-01-01 00:00 UTC.
    private static func time(_ option: String, of given: SubcommandArguments) throws(UsageError) -> UInt64? {
        guard let text = given.values[option] else { return nil }
        guard let time = RFC3339.Time(text), let seconds = UInt64(exactly: time.seconds) else {
            throw JournalOptions.error(
                "found \(ShownValue.text(text)) after \(option), expected \(JournalOptions.expectedTime)"
            )
        }
        // 64 bits of nanoseconds end in the year 2554, and no event is later.
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = product.addingReportingOverflow(UInt64(clamping: time.nanoseconds))
        return overflow || carry ? .max : sum
    }
}
