package import BridgePlatform
package import DomainEvents
import Locks

/// Publishes a bridge's reports about itself on its own thread, one after the other, in the order in which they were
/// made.
///
/// Reports are made where things happen: on the threads of links, on the poller's thread, or by the supervisor between
/// two of its actions. None of these may wait for an inline handler of a report, which may never return. So the handler
/// runs on the strand's thread, where it holds up only other reports.
///
/// The first report that is wanted starts the thread. The thread ends when there was no report for a while.
package final class ReportStrand: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The longest time that ``whenPassed(_:)`` and ``passed()`` wait for the handlers of reports, in nanoseconds.
    ///
    /// A time in which the whole process stands still hardly counts; ``ReportWaits`` says how. A handler that never
    /// returns holds up all calls together once, and not each call anew.
    package static let waitLimit = UInt64(ReportWaits.looks) * lookInterval

    /// The time between two looks at the calls that wait, in nanoseconds.
    private static let lookInterval: UInt64 = 500_000_000
    /// How many bytes each report is charged besides its variable part.
    private static let reportBytes = 256
    /// How many bytes may wait: 65,536 reports without a variable part, so that a burst of short lines finds room.
    private static let maximumBytes = 16 << 20
    /// How long the thread waits for a further report, in nanoseconds.
    private static let lingering: UInt64 = 1_000_000_000
    /// How long to wait before another try if a thread could not be started, in nanoseconds.
    private static let threadPause: UInt64 = 100_000_000

    private struct Entry {
        /// How many bytes of the room the entry takes.
        var bytes = 0
        let body: @Sendable () -> Void
    }

    /// Reports of one name that found no room.
    private struct Overflow {
        var count = 0
        let first: EventID
        var last: EventID

        mutating func add(_ id: EventID) {
            count += 1
            last = id
        }
    }

    private let publisher: EventPublisher
    private let poller: Poller
    private let lock = Lock()
    private let changed: Condition
    private var queue: [Entry] = []
    /// Where the queue begins; entries before it have been delivered.
    private var first = 0
    private var bytes = 0
    private var overflow: [String: Overflow] = [:]
    private var hasThread = false
    private var isDelivering = false
    private var waits = ReportWaits()
    /// Whether a timer runs that leads to the next look at the calls that wait.
    private var isLooking = false
    /// Whether the thread no longer waits for further reports.
    private var isEnding = false

    package init(publisher: EventPublisher, poller: Poller) {
        self.publisher = publisher
        self.poller = poller
        changed = Condition(lock: lock)
    }

    /// Whether a thread delivers reports or waits for them.
    var isRunning: Bool { lock.withLock { hasThread } }

    // MARK: - Reporting

    /// Publishes a report after all earlier reports; the report gets its identity and its time now.
    ///
    /// A report that nothing wants at this moment is left out. A report finds no room if the handlers of earlier
    /// reports do not keep up. The report is then dropped, counted, and announced (`EventsDropped`) after the reports
    /// that found room.
    /// - Parameters:
    ///   - cause: the event that the report is about, if the report names it as its cause.
    ///   - bytes: the bytes of the report's variable part, such as a line that a worker has printed or the reason of a
    ///     refusal.
    /// - Returns: Whether the report is wanted.
    @discardableResult
    package func publish<E: DomainEvent & SelfReport>(
        _ report: E,
        causedBy cause: EventContext? = nil,
        bytes extent: Int = 0
    ) -> Bool {
        guard publisher.isReached(by: E.self) else { return false }
        let context = publisher.makeContext(causedBy: cause)
        let cost = Self.reportBytes + extent
        let entry = Entry(bytes: cost) { [publisher] in publisher.publish(report, as: context) }
        let starts = lock.withLock {
            if bytes + cost <= Self.maximumBytes {
                bytes += cost
                return append(entry)
            }
            let isFirst = overflow.isEmpty
            overflow[E.eventName, default: Overflow(first: context.id, last: context.id)].add(context.id)
            // The announcement comes after the reports that found room, and counts all that are dropped until its turn.
            return isFirst ? append(Entry { [self] in announceOverflow() }) : false
        }
        if starts { startThread() }
        return true
    }

    /// Runs `body` after all earlier reports.
    ///
    /// This is for reports that their caller gathers. The caller makes sure that the strand never has more than one
    /// body of a kind.
    package func perform(_ body: @escaping @Sendable () -> Void) {
        let starts = lock.withLock { append(Entry(body: body)) }
        if starts { startThread() }
    }

    /// Appends an entry, and returns whether a thread has to be started.
    ///
    /// The caller holds the lock.
    private func append(_ entry: Entry) -> Bool {
        queue.append(entry)
        changed.signal()
        defer { hasThread = true }
        return !hasThread
    }

    private func announceOverflow() {
        let gathered = lock.withLock {
            defer { overflow = [:] }
            return overflow
        }
        for (name, dropped) in gathered.sorted(by: { $0.key < $1.key }) {
            publisher.publish(
                EventsDropped(
                    event: name,
                    link: publisher.source.origin,
                    count: dropped.count,
                    first: dropped.first.description,
                    last: dropped.last.description,
                    reason: "the handlers of the bridge's reports do not keep up"
                )
            )
        }
    }

    // MARK: - Waiting

    /// Calls `body` when all earlier reports have been delivered, or after ``waitLimit``; at once if none is left.
    package func whenPassed(_ body: @escaping @Sendable () -> Void) {
        let (isOver, looks): (Bool, Bool) = lock.withLock {
            guard isDelivering || first < queue.count, let number = waits.begin(body) else { return (true, false) }
            // A report waits or is being delivered, so the strand has a thread, or gets one.
            _ = append(Entry { [weak self] in self?.pass(number) })
            defer { isLooking = true }
            return (false, !isLooking)
        }
        if isOver { return body() }
        if looks { scheduleLook() }
    }

    /// Ends a wait before which all reports have been delivered.
    private func pass(_ number: UInt64) {
        let body = lock.withLock { waits.takeBody(of: number) }
        body?()
    }

    private func scheduleLook() {
        // The reference may be weak: as long as a call waits, the strand's thread holds a reference to the strand.
        poller.schedule(after: Self.lookInterval) { [weak self] in self?.look() }
    }

    private func look() {
        let (ended, goesOn) = lock.withLock {
            let ended = waits.looked()
            isLooking = !waits.isEmpty
            return (ended, isLooking)
        }
        if goesOn { scheduleLook() }
        for body in ended { body() }
    }

    /// Returns when all earlier reports have been delivered, and after ``waitLimit`` at the latest.
    package func passed() async {
        await withCheckedContinuation { continuation in whenPassed { continuation.resume() } }
    }

    /// Lets the thread end as soon as the strand is empty; a later report starts another thread.
    func end() {
        lock.withLock {
            isEnding = true
            changed.signal()
        }
    }

    // MARK: - The thread

    private func startThread() {
        do {
            try PlatformThread.start(name: "reports") { [self] in run() }
        } catch {
            // A later try may succeed. Meanwhile no other thread may run the handlers.
            poller.schedule(after: Self.threadPause) { [weak self] in self?.startThread() }
        }
    }

    private func run() {
        while let body = next() { body() }
    }

    private func next() -> (@Sendable () -> Void)? {
        lock.withLock {
            isDelivering = false
            waits.reportPassed()
            if first == queue.count {
                queue.removeAll(keepingCapacity: queue.capacity <= 64)
                first = 0
                let deadline = MonotonicClock.now() + Self.lingering
                while queue.isEmpty, !isEnding, changed.wait(untilNanoseconds: deadline) {}
            }
            guard first < queue.count else {
                hasThread = false
                return nil
            }
            let entry = queue[first]
            first += 1
            bytes -= entry.bytes
            isDelivering = true
            // A look may have come while the thread had nothing to deliver.
            waits.reportPassed()
            // Delivered entries are removed in batches, not one by one.
            if first >= 256 {
                queue.removeFirst(first)
                first = 0
            }
            return entry.body
        }
    }
}
