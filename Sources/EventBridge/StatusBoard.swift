import DomainEvents
import EventRouting
import Locks
import Supervision

/// The last known states of all workers, and the feeds that get them.
///
/// A new feed gets a snapshot, and then each change that is not in the snapshot, once and in order. One thread at a
/// time makes the changes. Each feed has a list of its own for the updates that wait, so that no lock is held while
/// they are handed over.
final class StatusBoard: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    /// The statuses by index; of a removed worker only the name is kept, as its index stays taken.
    private var all: [WorkerStatus] = []
    private var removed: Set<Int> = []
    private var feeds: [StatusFeed] = []
    private var hasEnded = false

    /// The statuses of the workers that were not removed; read with the lock held.
    private var workers: [WorkerStatus] {
        removed.isEmpty ? all : all.indices.filter { !removed.contains($0) }.map { all[$0] }
    }

    /// Adds workers, behind all others.
    func add(_ names: [String]) {
        for name in names {
            let status = WorkerStatus(name: name, state: .notStarted)
            tell {
                all.append(status)
                return status
            }
        }
    }

    /// Leaves a worker out of all further updates, and reports its last state.
    func remove(_ index: Int) {
        tell {
            removed.insert(index)
            defer { all[index] = WorkerStatus(name: all[index].name, state: .stopped) }
            return all[index]
        }
    }

    func add(_ feed: StatusFeed) {
        lock.withLock {
            feed.append(WorkerStatusUpdate(workers: workers, changed: nil))
            if hasEnded { feed.appendEnd() } else { feeds.append(feed) }
        }
        feed.begin()
    }

    func remove(_ feed: StatusFeed) {
        lock.withLock { feeds.removeAll { $0 === feed } }
    }

    /// Changes a worker's status, reports the change, and returns the worker's status before.
    func changed(_ index: Int, to status: WorkerStatus) -> WorkerStatus {
        var before = status
        tell {
            before = all[index]
            all[index] = status
            return status
        }
        return before
    }

    /// - Parameter change: makes a change, with the lock held, and returns the changed worker's status.
    private func tell(_ change: () -> WorkerStatus) {
        let told = lock.withLock {
            let changed = change()
            let update = WorkerStatusUpdate(workers: workers, changed: changed)
            for feed in feeds { feed.append(update) }
            return feeds
        }
        for feed in told where !feed.deliver() { remove(feed) }
    }

    /// Ends all feeds, as nothing changes any more.
    func finish() {
        let told = lock.withLock {
            hasEnded = true
            defer { feeds = [] }
            return feeds
        }
        for feed in told {
            feed.appendEnd()
            feed.deliver()
        }
    }
}

/// The updates that wait for one receiver; one thread at a time hands them over.
final class StatusFeed: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private enum Entry {
        case update(WorkerStatusUpdate)
        /// Nothing follows.
        case end
    }

    private let lock = Lock()
    private var line: [Entry] = []
    /// True from the beginning: the caller that asked for the snapshot hands it over.
    private var isDelivering = true
    /// Whether the sink has said that nothing listens any more.
    private var isUnheard = false
    /// Hands over the updates after the snapshot; nil if the thread that makes a change also hands over the update.
    private let reports: ReportStrand?
    private let sink: @Sendable (WorkerStatusUpdate) -> Bool
    private let end: @Sendable () -> Void

    /// - Parameters:
    ///   - reports: hands over the updates if `sink` may take long; nil if `sink` never takes long.
    ///   - sink: takes an update, and says whether anything still listens.
    ///   - end: called when nothing follows any more.
    init(
        on reports: ReportStrand? = nil,
        sink: @escaping @Sendable (WorkerStatusUpdate) -> Bool,
        end: @escaping @Sendable () -> Void = {}
    ) {
        self.reports = reports
        self.sink = sink
        self.end = end
    }

    func append(_ update: WorkerStatusUpdate) {
        lock.withLock { line.append(.update(update)) }
    }

    func appendEnd() {
        lock.withLock { line.append(.end) }
    }

    /// Hands over the first updates; called once.
    func begin() {
        handOver()
    }

    /// Hands over the updates that wait; if another thread is already doing so, that thread hands these over too.
    ///
    /// - Returns: False once the sink has said that nothing listens any more.
    @discardableResult
    func deliver() -> Bool {
        let isMine = lock.withLock {
            defer { isDelivering = true }
            return !isDelivering
        }
        if isMine {
            if let reports { reports.perform { self.handOver() } } else { handOver() }
        }
        return lock.withLock { !isUnheard }
    }

    private func handOver() {
        guard !DeliveryThread.current.isDelivering else {
            // Inside a handler, a published update waits until that handler has returned, and updates from other
            // threads could overtake it. So another thread hands it over.
            StrandExecutor.anywhere.schedule { self.handOver() }
            return
        }
        while let entry = next() {
            switch entry {
            case .update(let update): if !sink(update) { lock.withLock { isUnheard = true } }
            case .end: end()
            }
        }
    }

    private func next() -> Entry? {
        lock.withLock {
            isDelivering = !line.isEmpty
            return line.isEmpty ? nil : line.removeFirst()
        }
    }
}
