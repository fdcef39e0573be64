import DomainEvents
import Locks

/// Remembers the input line of an event for as long as a worker may still refuse the event.
final class InputLines: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// No outbox has more events: its hard limit is 64 MiB, and each event counts for 256 bytes at least.
    static let kept = 1 << 18

    private let kept: Int
    private let lock = Lock()
    /// The entries by ascending number, which is the order of publishing.
    private var entries: ArraySlice<(number: UInt64, line: Int)> = []

    init(kept: Int = InputLines.kept) {
        self.kept = kept
    }

    /// Takes note of an event; the caller does so before it publishes, since the refusal may come at once.
    func add(_ id: EventID, line: Int) {
        lock.withLock {
            entries.append((id.number, line))
            guard entries.count > 2 * kept else { return }
            // Copied, so that the memory of the removed entries is freed; seldom, so that this costs little.
            entries = Array(entries.suffix(kept))[...]
        }
    }

    /// The input line of this host's event with that number.
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
