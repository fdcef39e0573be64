import BridgeControl
import Journal
import JournalFormat

/// What has become of the events of a replay so far.
struct ReplayTally: Sendable, Hashable {
    private(set) var handled: UInt64 = 0
    private(set) var refused: UInt64 = 0
    /// How many events the worker does not want, by their names.
    private(set) var unwanted: [String: UInt64] = [:]
    /// How many places of the journal lack events, and how many events are known to be missing there.
    private(set) var (gaps, missing): (Int, UInt64) = (0, 0)
    /// The position of the last event that is settled; nil before the first.
    private(set) var last: UInt64?

    mutating func add(_ record: JournalRecord, _ result: ReplayOutcome.Result) {
        switch result.kind {
        case .handled: handled += 1
        case .refused: refused += 1
        case .unwanted: unwanted[record.name, default: 0] += 1
        case .unavailable: return
        }
        last = record.position
    }

    mutating func add(_ gap: JournalGap) {
        gaps += 1
        missing = missing.saturatingSum(gap.count)
    }

    /// How many events the worker does not want.
    var leftOut: UInt64 { unwanted.values.reduce(0, +) }

    /// Where another replay can go on, as the end of a sentence.
    var progress: String {
        last.map { "everything up to position \($0) is settled, and --after \($0) goes on behind it" }
            ?? "no event is known to be settled"
    }

    var status: ProgramStatus {
        if refused > 0 { return .unhandledEvents }
        if gaps > 0 { return .badInput }
        return handled == 0 && leftOut > 0 ? .workerUnavailable : .success
    }
}
