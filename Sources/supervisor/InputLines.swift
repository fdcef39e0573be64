import DomainEvents
import Locks

/// Remembers which line of the input an event came from, for as long as a worker may still refuse it.
final class InputLines: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// More events than this are in no outbox: its hard limit is 64 MiB, and each counts for 256 bytes at least.
    static let kept = 1 << 18

    private let kept: Int
    private let lock = Lock()
    /// By ascending number, which is the order of publishing.
    private var entries: ArraySlice<(number: UInt64, line: Int)> = []

    init(kept: Int = InputLines.kept) {
        self.kept = kept
    }

    /// Takes note of an event; before it is published, since the refusal may be quicker than anything afterwards.
    func add(_ id: EventID, line: Int) {
        lock.withLock {
            entries.append((id.number, line))
            guard entries.count > 2 * kept else { return }
            // Copied, so that the memory of those left out is given back; seldom, so that this costs little.
            entries = Array(entries.suffix(kept))[...]
        }
    }

    /// The line of the event of this host with that number.
    func line(of number: UInt64) -> Int? {
        lock.withLock {
            var (low, high) = (entries.startIndex, entries.endIndex)
            while low < high {
                let middle = low + (high - low) / 2
                if entries[middle].number < number { low = middle + 1 } else { high = middle }
            }
            return low < entries.endIndex && entries[low].number == number ? entries[low].line : nil
        }
    }
}
