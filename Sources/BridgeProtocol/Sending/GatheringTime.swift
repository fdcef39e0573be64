/// How long events that come one right behind the other gather: a system call and two switches of threads cost as much
/// as a hundred events.
enum GatheringTime {
    /// So many events in one write are worth it.
    private static let worthwhileEvents: UInt64 = 16

    /// More events would only make each of them later.
    private static let plentifulEvents: UInt64 = 64

    /// How long events gather where many come, and where few come: an event that goes to many links costs as many
    /// writes and switches, and without time to gather the publishing thread has no time for more.
    private static let shortest: UInt64 = 50_000
    private static let longest: UInt64 = 400_000

    /// Two writes of gathered events within this time are the beginning of a flood, however few they bring.
    static let repeatNanoseconds: UInt64 = 100_000

    /// For how many nanoseconds more events are to gather; nil if they are to leave as they come.
    ///
    /// - Parameters:
    ///   - gathered: for how long they have gathered before; 0 if not at all.
    ///   - events: how many have come in that time.
    ///   - isRepeated: whether a write of gathered events was shortly before.
    static func gathering(after gathered: UInt64, brought events: UInt64, isRepeated: Bool) -> UInt64? {
        guard gathered > 0 else {
            if events >= worthwhileEvents { return shortest }
            return events > 0 && isRepeated ? longest : nil
        }
        switch events {
        case 0: return nil
        case ..<worthwhileEvents: return min(gathered * 2, longest)
        case ...plentifulEvents: return gathered
        default: return max(gathered / 2, shortest)
        }
    }
}
