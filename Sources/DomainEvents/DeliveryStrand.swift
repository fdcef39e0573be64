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

    /// The threads that publish the events of this source; what they leave is for any free thread.
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
/// An inline strand is not scheduled when an event comes: each publishing thread handles the event that it delivers,
/// and no other. So the time of a handler counts for its own event, also on the thread of a link. If that event is not
/// the oldest, or another thread is in the strand, a free thread works the strand off.
final class DeliveryStrand: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let executor: StrandExecutor
    let lockNumber = StrandLocks.assign()
    private let lock: Lock
    private let arrivals = ArrivalFlag()
    private var backlog: Backlog
    private var turn = Turn.free
    /// Whether a batch of events has been taken out of the strand; its events may belong to any subscriber.
    private var isBatchOut = false
    /// Subscribers that were removed while a batch was out; they live until its events are handled.
    private var departed: [StrandSubscriber] = []

    /// What a thread does in the strand, or will do.
    private enum Turn {
        /// No thread is in the strand. Each event that waits in an inline strand has a call yet to come.
        case free
        /// A publishing thread handles its own event. Each event that waits has a call yet to come.
        case ownEvent
        /// The strand is worked off.
        case allEvents
    }

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
        defer { turn = .allEvents }
        return turn == .free
    }

    func schedule() {
        executor.schedule { self.workOff() }
    }

    /// Handles the event that the calling thread delivers, for one of its subscribers in this inline strand.
    ///
    /// A publishing thread calls this once for each of these subscribers, after it has put the event into the strand.
    /// If the event is not the oldest here, the thread that has put the oldest in may be in another handler for long.
    func workOffHere() {
        let id = DeliveryThread.current.resolvedContext()?.id
        var isForOthers = false
        let own = lock.withLock {
            guard let oldest = backlog.first, turn == .free else {
                // The thread in the strand may have left the event behind, for this call.
                if turn != .free { turn = .allEvents }
                return DeliveryBatch()
            }
            isForOthers = oldest.context.id != id
            turn = isForOthers ? .allEvents : .ownEvent
            isBatchOut = !isForOthers
            return isForOthers ? DeliveryBatch() : backlog.take(atMost: 1)
        }
        if isForOthers { return schedule() }
        if !own.isEmpty { workOff(beginningWith: own, atMost: 1) }
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

    /// - Parameters:
    ///   - own: what has been taken out of the strand already.
    ///   - limit: no more events are taken out after this many.
    private func workOff(beginningWith own: DeliveryBatch = DeliveryBatch(), atMost limit: Int = burst) {
        let thread = DeliveryThread.current
        var batch = own
        var handled = 0
        repeat {
            var left = batch
            while let place = left.takeNext() {
                handled += 1
                // The event does not hold its owner; the owner's channel or `departed` does.
                place.pointee.owner?._withUnsafeGuaranteedRef { owner in
                    unsafeDowncast(owner, to: StrandSubscriber.self).handle(place, on: thread)
                }
            }
        } while takeNext(&batch, handled, limit)
    }

    /// - Returns: Whether `batch` has events. If not, the strand is scheduled again: at once if events wait that may
    ///   have no call yet to come, otherwise when the next event comes.
    private func takeNext(_ batch: inout DeliveryBatch, _ handled: Int, _ limit: Int) -> Bool {
        let isOver = handled >= limit
        // A burst is under way, so the next event probably comes soon. The next event of an inline strand should find
        // the strand free, for the thread that publishes it.
        var mayWait = handled > 1 && !isOver && !executor.isInline
        while true {
            lock.lockSoon()
            backlog.giveBack(batch)
            batch = isOver ? DeliveryBatch() : backlog.take(atMost: Self.batchLimit)
            isBatchOut = !batch.isEmpty
            let gone = departed
            if !gone.isEmpty { departed = [] }
            let isLeft = isOver && turn == .allEvents && !backlog.isEmpty
            turn = isBatchOut || isLeft || mayWait ? .allEvents : .free
            lock.unlock()
            withExtendedLifetime(gone) {}
            if !batch.isEmpty { return true }
            if isLeft { schedule() }
            if !mayWait { return false }
            mayWait = arrivals.comeSoon()
        }
    }
}
