import Locks

/// The names of events that other processes want, for `for await`; each iterator begins with the present names.
///
/// The names are in the order of their bytes, each once. The sequence ends when the task is cancelled, and when the
/// publisher is released.
public struct WantedEventNames: AsyncSequence, Sendable {
    /// The names that are wanted at one time.
    public typealias Element = [String]
    /// No error: the sequence never throws.
    public typealias Failure = Never

    private let wanted: WantedNames

    init(_ wanted: WantedNames) {
        self.wanted = wanted
    }

    /// Makes a consumer that is independent of the others.
    public func makeAsyncIterator() -> Iterator { Iterator(wanted) }

    /// Takes the names after each change.
    public struct Iterator: AsyncIteratorProtocol {
        private let wanted: WantedNames
        private var changes: AsyncStream<Void>.Iterator
        private var last: Set<EventName>?

        fileprivate init(_ wanted: WantedNames) {
            self.wanted = wanted
            changes = wanted.changes().makeAsyncIterator()
        }

        /// Waits until the wanted names differ from those that the iterator has returned last; returns the new ones.
        public mutating func next() async -> [String]? { await next(isolation: nil) }

        /// Waits until the wanted names differ from those that the iterator has returned last; returns the new ones.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> [String]? {
            while !Task.isCancelled {
                // A change that comes after this reading is an element of `changes`, so it ends the wait below.
                guard let now = wanted.present else { return nil }
                if now != last {
                    last = now
                    return now.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                }
                guard await changes.next(isolation: actor) != nil else { return nil }
            }
            return nil
        }
    }
}

/// The names that other processes want of one publisher, and the consumers that watch them.
final class WantedNames: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var names: Set<EventName>? = []
    private var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
    private var lastWatcher = 0
    private var hasChanged = false

    /// The names; nil if their publisher was released.
    var present: Set<EventName>? { lock.withLock { names } }

    /// An element for each change of the names; changes that the consumer has not taken yet are one element.
    func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (number, isOver) = lock.withLock {
            lastWatcher += 1
            if names != nil { watchers[lastWatcher] = continuation }
            return (lastWatcher, names == nil)
        }
        if isOver { continuation.finish() }
        continuation.onTermination = { [weak self] _ in self?.removeWatcher(number) }
        return stream
    }

    private func removeWatcher(_ number: Int) {
        // The continuation is released without the lock.
        let removed = lock.withLock { watchers.removeValue(forKey: number) }
        withExtendedLifetime(removed) {}
    }

    /// Notes whether a name is wanted; the caller calls ``tellWatchers()`` when it has released its locks.
    func set(_ name: EventName, isWanted: Bool) {
        lock.withLock {
            let isChange = isWanted ? names?.insert(name).inserted == true : names?.remove(name) != nil
            if isChange { hasChanged = true }
        }
    }

    func tellWatchers() {
        let watchers = lock.withLock {
            defer { hasChanged = false }
            return hasChanged ? Array(self.watchers.values) : []
        }
        for watcher in watchers { watcher.yield() }
    }

    func publisherWasReleased() {
        let watchers = lock.withLock {
            names = nil
            defer { self.watchers = [:] }
            return Array(self.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}
