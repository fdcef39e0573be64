import Locks

/// How wide the columns of printed events are: as wide as what is known beforehand, and as what has come so far.
final class ColumnWidths: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// What is wider than this pushes its own line to the right, and no other.
    static let widest = 40

    private let lock = Lock()
    private var origin: Int
    private var name: Int

    init(origin: Int, name: Int) {
        self.origin = min(origin, Self.widest)
        self.name = min(name, Self.widest)
    }

    /// The widths of the columns from here on, in which an event has these.
    func make(origin: Int, name: Int) -> (origin: Int, name: Int) {
        lock.withLock {
            if origin <= Self.widest { self.origin = max(self.origin, origin) }
            if name <= Self.widest { self.name = max(self.name, name) }
            return (self.origin, self.name)
        }
    }
}
