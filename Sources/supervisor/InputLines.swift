import BridgePlatform
import DomainEvents
import Locks

/// Remembers the line numbers of the newest events of the input, which workers may still refuse.
final class InputLines: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The least number of lines that are kept: an outbox with the default hard limit of 64 MiB holds fewer events,
    /// because each event counts there as more than 256 bytes.
    static let kept = 1 << 18

    private let kept: Int
    private let lock = Lock()
    /// The entries by ascending number, which is the order of publishing.
    private var entries: ArraySlice<(number: UInt64, line: Int)> = []

    init(kept: Int = InputLines.kept) {
        self.kept = kept
    }

    /// Notes an event; the caller does so before it publishes the event, because the refusal may come at once.
    func add(_ id: EventID, line: Int) {
        lock.withLock {
            entries.append((id.number, line))
            guard entries.count > 2 * kept else { return }
            // Copying the rest frees the memory of the removed entries; this happens seldom, so it costs little.
            entries = Array(entries.suffix(kept))[...]
        }
    }

    /// The line number of the input event with this number; nil if the line is not kept.
    func line(of number: UInt64) -> Int? {
        lock.withLock {
            let place = entries.partitioningIndex { $0.number >= number }
            return place < entries.endIndex && entries[place].number == number ? entries[place].line : nil
        }
    }
}
