import Locks

/// The widths of the columns of printed events, each set by the widest text known beforehand or printed so far.
final class ColumnWidths: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// A text of more columns than this does not widen its column; it only shifts the rest of its own line.
    static let widest = 40

    private let lock = Lock()
    private var origin: Int
    private var name: Int

    init(origin: Int, name: Int) {
        self.origin = min(origin, Self.widest)
        self.name = min(name, Self.widest)
    }

    /// Widens the columns for an event whose texts have these widths, and returns the new widths of the columns.
    func make(origin: Int, name: Int) -> (origin: Int, name: Int) {
        lock.withLock {
            if origin <= Self.widest { self.origin = max(self.origin, origin) }
            if name <= Self.widest { self.name = max(self.name, name) }
            return (self.origin, self.name)
        }
    }
}
