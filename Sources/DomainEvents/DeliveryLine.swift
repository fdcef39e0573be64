import Dispatch
import Locks

/// Where the handlers of a line run.
package struct LineExecutor: Sendable {
    /// The identity of the line's queue.
    ///
    /// A publisher has one line for each identity.
    let identity: ObjectIdentifier
    /// Held so that no other object gets the same identity.
    let owner: any AnyObject & Sendable
    /// Runs a block on the queue, later.
    package let schedule: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    package init(
        _ owner: any AnyObject & Sendable,
        schedule: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void
    ) {
        identity = ObjectIdentifier(owner)
        self.owner = owner
        self.schedule = schedule
    }

    static func queue(_ queue: DispatchQueue) -> LineExecutor {
        // `DispatchQueue.main` is another object each time; a mark on the queue behind it tells it.
        if queue.getSpecific(key: mainQueue.mark) != nil { return .main }
        return LineExecutor(queue) { work in
            if let thread = Simulation.thread { return thread.perform(on: queue, work) }
            queue.async(execute: work)
        }
    }

    /// Any free thread.
    package static let anywhere = LineExecutor.queue(.global())

    private final class MainQueue: Sendable {
        let mark = DispatchSpecificKey<Bool>()

        init() {
            DispatchQueue.main.setSpecific(key: mark, value: true)
        }
    }

    private static let mainQueue = MainQueue()

    static let main = LineExecutor(mainQueue) { work in DispatchQueue.main.async(execute: work) }
}

/// The one line of a publisher's deliveries on one queue; subscribers of different event types see the events in the
/// order in which they were published.
///
/// The line schedules itself when it goes from idle to busy, and then works until it is empty: one block on the queue
/// for a whole burst. Its handlers run one at a time, also on a concurrent queue.
final class DeliveryLine: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let executor: LineExecutor
    let lockNumber = LineLocks.assign()
    private let lock: Lock
    private let arrivals = Arrivals()
    private var backlog: Backlog
    private var isScheduled = false
    /// Whether events that were taken out of the line may name any of its subscribers.
    private var isInHand = false
    /// Subscribers that were removed meanwhile; they live until those events are handled.
    private var departed: [LineSubscriber] = []

    /// After this many events the line gives the queue back, so that others get their turn.
    private static let burst = 256
    /// How many events are taken out of the line at once.
    private static let handful = 32

    init(executor: LineExecutor) {
        self.executor = executor
        lock = LineLocks.lock(number: lockNumber)
        backlog = Backlog(arrivals)
    }

    /// Called with the lock held.
    ///
    /// - Returns: Whether the line has to be scheduled, without the lock.
    func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        for subscriber: LineSubscriber
    ) -> Bool {
        backlog.append(event, stamp, tracker, for: subscriber)
        defer { isScheduled = true }
        return !isScheduled
    }

    func schedule() {
        executor.schedule { self.workOff() }
    }

    /// Takes out the events of a subscriber that was removed; called with the lock held.
    func remove(_ subscriber: LineSubscriber) -> Hand {
        if isInHand { departed.append(subscriber) }
        return backlog.takeAll(of: subscriber)
    }

    func giveBack(_ places: Hand) {
        lock.withLock { backlog.giveBack(places) }
    }

    private func workOff() {
        let thread = DeliveryThread.current
        var hand = Hand()
        var handled = 0
        while takeNext(&hand, handled) {
            var left = hand
            while let place = left.takeNext() {
                handled += 1
                // The event names its owner; the owner's channel or `departed` holds it.
                place.pointee.owner?._withUnsafeGuaranteedRef { owner in
                    unsafeDowncast(owner, to: LineSubscriber.self).handle(place, on: thread)
                }
            }
        }
    }

    /// - Returns: Whether there are events; otherwise the next event, or those that are left, schedule the line again.
    private func takeNext(_ hand: inout Hand, _ handled: Int) -> Bool {
        let isOver = handled >= Self.burst
        // A burst is under way, so the next event is near.
        var mayWait = handled > 1 && !isOver
        while true {
            lock.lockSoon()
            backlog.giveBack(hand)
            hand = isOver ? Hand() : backlog.take(atMost: Self.handful)
            isInHand = !hand.isEmpty
            let gone = departed
            if !gone.isEmpty { departed = [] }
            let isLeft = isOver && !backlog.isEmpty
            isScheduled = isInHand || isLeft || mayWait
            lock.unlock()
            withExtendedLifetime(gone) {}
            if !hand.isEmpty { return true }
            if isLeft { schedule() }
            if !mayWait { return false }
            mayWait = arrivals.comeSoon()
        }
    }
}
