import Dispatch
import Locks

/// Where the handlers of a strand run.
package struct StrandExecutor: Sendable {
    /// The identity of the strand's queue.
    ///
    /// A publisher has one strand for each identity.
    let identity: ObjectIdentifier
    /// Held so that no other object gets the same identity.
    let owner: any AnyObject & Sendable
    /// Whether a thread that has put an event into the strand calls ``DeliveryStrand/workOffHere()``.
    let isInline: Bool
    /// Runs a block on the queue, later.
    package let schedule: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    package init(
        _ owner: any AnyObject & Sendable,
        isInline: Bool = false,
        schedule: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void
    ) {
        identity = ObjectIdentifier(owner)
        self.owner = owner
        self.isInline = isInline
        self.schedule = schedule
    }

    /// The threads that publish the events of this source; what is left after a burst is for any free thread.
    static func publishingThreads(of source: EventSource) -> StrandExecutor {
        StrandExecutor(source, isInline: true, schedule: anywhere.schedule)
    }

    static func queue(_ queue: DispatchQueue) -> StrandExecutor {
        // `DispatchQueue.main` may be a new object each time; a mark on the underlying queue identifies that queue.
        if queue.getSpecific(key: mainQueue.mark) != nil { return .main }
        return StrandExecutor(queue) { work in
            if let thread = Simulation.thread { return thread.perform(on: queue, work) }
            queue.async(execute: work)
        }
    }

    /// Runs blocks on any free thread.
    package static let anywhere = StrandExecutor.queue(.global())

    private final class MainQueue: Sendable {
        let mark = DispatchSpecificKey<Bool>()

        init() {
            DispatchQueue.main.setSpecific(key: mark, value: true)
        }
    }

    private static let mainQueue = MainQueue()

    static let main = StrandExecutor(mainQueue) { work in DispatchQueue.main.async(execute: work) }
}

/// The one strand of a publisher's deliveries on one queue object; subscribers of different event types see the events
/// in the order in which they were published.
///
/// The strand is scheduled when it goes from idle to busy. One block on the queue then works until the strand is empty
/// or a burst of events is handled. The handlers run one at a time, also on a concurrent queue.
///
/// An inline strand is not scheduled for its first event: the publishing thread works it off, unless another thread is
/// in the strand. That thread then handles the event, too, up to the end of a burst.
final class DeliveryStrand: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let executor: StrandExecutor
    let lockNumber = StrandLocks.assign()
    private let lock: Lock
    private let arrivals = ArrivalFlag()
    private var backlog: Backlog
    /// Whether a thread works the strand off or will.
    private var isScheduled = false
    /// Whether a batch of events has been taken out of the strand; its events may belong to any subscriber.
    private var isBatchOut = false
    /// Subscribers that were removed while a batch was out; they live until its events are handled.
    private var departed: [StrandSubscriber] = []

    /// After the batch that reaches this many events, the strand leaves the queue to other blocks for a turn.
    private static let burst = 256
    /// How many events are taken out of the strand at once.
    private static let batchLimit = 32

    init(executor: StrandExecutor) {
        self.executor = executor
        lock = StrandLocks.lock(number: lockNumber)
        backlog = Backlog(arrivals)
    }

    /// Puts a copy of the event at the end; called with the lock held.
    ///
    /// - Returns: Whether the caller has to schedule the strand after it has released the lock.
    func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        for subscriber: StrandSubscriber
    ) -> Bool {
        backlog.append(event, stamp, tracker, for: subscriber)
        if executor.isInline { return false }
        defer { isScheduled = true }
        return !isScheduled
    }

    func schedule() {
        executor.schedule { self.workOff() }
    }

    /// Works off an inline strand, unless another thread does.
    func workOffHere() {
        let isFirst = lock.withLock {
            defer { isScheduled = true }
            return !isScheduled
        }
        if isFirst { workOff() }
    }

    var isInline: Bool { executor.isInline }

    /// Takes out the events of a subscriber that was removed; called with the lock held.
    func remove(_ subscriber: StrandSubscriber) -> DeliveryBatch {
        if isBatchOut { departed.append(subscriber) }
        return backlog.takeAll(of: subscriber)
    }

    func giveBack(_ places: DeliveryBatch) {
        lock.withLock { backlog.giveBack(places) }
    }

    private func workOff() {
        let thread = DeliveryThread.current
        var batch = DeliveryBatch()
        var handled = 0
        while takeNext(&batch, handled) {
            var left = batch
            while let place = left.takeNext() {
                handled += 1
                // The event does not hold its owner; the owner's channel or `departed` does.
                place.pointee.owner?._withUnsafeGuaranteedRef { owner in
                    unsafeDowncast(owner, to: StrandSubscriber.self).handle(place, on: thread)
                }
            }
        }
    }

    /// - Returns: Whether `batch` has events. If not, the strand is scheduled again: at once if events still wait,
    ///   otherwise when the next event comes.
    private func takeNext(_ batch: inout DeliveryBatch, _ handled: Int) -> Bool {
        let isOver = handled >= Self.burst
        // A burst is under way, so the next event probably comes soon. A publishing thread has other work than to wait.
        var mayWait = handled > 1 && !isOver && !executor.isInline
        while true {
            lock.lockSoon()
            backlog.giveBack(batch)
            batch = isOver ? DeliveryBatch() : backlog.take(atMost: Self.batchLimit)
            isBatchOut = !batch.isEmpty
            let gone = departed
            if !gone.isEmpty { departed = [] }
            let isLeft = isOver && !backlog.isEmpty
            isScheduled = isBatchOut || isLeft || mayWait
            lock.unlock()
            withExtendedLifetime(gone) {}
            if !batch.isEmpty { return true }
            if isLeft { schedule() }
            if !mayWait { return false }
            mayWait = arrivals.comeSoon()
        }
    }
}
