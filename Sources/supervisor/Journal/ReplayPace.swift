import JSONText

/// How fast the events of a journal are replayed.
enum ReplayPace: Sendable, Hashable {
    static let expected = "how many times as fast as the events were published, such as 1x, 10x or 0.5x"

    /// Without pauses: the next events go as soon as the worker has settled the previous ones.
    case asFastAsPossible
    /// With the original pauses between the events, divided by this number, which is finite and above 0.
    case asItWas(times: Double)

    /// Reads a number from 0.001 to 1,000,000 that is followed by `x`; nil for any other text.
    init?(_ text: String) {
        guard text.last == "x", let times = Double(text.dropLast()), (0.001...1_000_000).contains(times) else {
            return nil
        }
        self = .asItWas(times: times)
    }

    /// How many nanoseconds after the first event of a replay another one is due.
    ///
    /// - Parameters:
    ///   - time: when the other event was published, in nanoseconds since 1970.
    ///   - first: when the first event was published; an event with an earlier time is due at once.
    func delay(of time: UInt64, after first: UInt64) -> UInt64 {
        switch self {
        case .asFastAsPossible: return 0
        case .asItWas(let times):
            guard time > first else { return 0 }
            // Cut at 146 years: a longer delay makes no difference.
            return UInt64(min(Double(time - first) / times, Double(Int64.max / 2)))
        }
    }
}
