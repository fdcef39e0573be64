/// How long events that come in quick succession gather for one write: a system call and two switches of threads cost
/// as much as a hundred events.
enum GatheringTime {
    /// From this many events in a write on, gathering is worth it.
    private static let worthwhileEvents: UInt64 = 16

    /// If a write brings more events than this, gathering for longer only delays them.
    private static let plentifulEvents: UInt64 = 64

    /// For how many nanoseconds events gather: `shortest` where many come, `longest` where few come.
    ///
    /// An event for many links costs a write and switches of threads for each link. Without gathering, these would take
    /// all the time of the publishing thread.
    private static let shortest: UInt64 = 50_000
    private static let longest: UInt64 = 400_000

    /// If two writes of gathered events end within this time, a flood begins, however few events they bring.
    static let repeatNanoseconds: UInt64 = 100_000

    /// For how many nanoseconds the next events gather; nil if they leave as they come.
    ///
    /// - Parameters:
    ///   - gathered: for how many nanoseconds the events of the last write had gathered; 0 if not at all.
    ///   - events: how many events left with that write.
    ///   - isRepeated: whether another write of gathered events had ended shortly before.
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
