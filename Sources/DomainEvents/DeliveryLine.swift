import Dispatch
import Locks

/// Where the handlers of a line run.
package struct LineExecutor: Sendable {
    /// What the line belongs to: a queue.
    ///
    /// Lines of one publisher with one identity are the same line.
    let identity: ObjectIdentifier
    /// Keeps the identity from being given to another object.
    let owner: any AnyObject & Sendable
    /// Runs a block there, later.
    let schedule: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    package init(
        _ owner: any AnyObject & Sendable,
        schedule: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void
    ) {
        identity = ObjectIdentifier(owner)
        self.owner = owner
        self.schedule = schedule
    }

    static func queue(_ queue: DispatchQueue) -> LineExecutor {
        // `DispatchQueue.main` is another object each time; what knows it is a mark on the queue behind it.
        if queue.getSpecific(key: mainQueue.mark) != nil { return .main }
        return LineExecutor(queue) { work in queue.async(execute: work) }
    }

    private final class MainQueue: Sendable {
        let mark = DispatchSpecificKey<Bool>()

        init() {
            DispatchQueue.main.setSpecific(key: mark, value: true)
        }
    }

    private static let mainQueue = MainQueue()

    static let main = LineExecutor(mainQueue) { work in DispatchQueue.main.async(execute: work) }
}

/// A subscriber in a line, whatever its event type.
protocol LineMember: AnyObject, Sendable {
    /// Calls the handler with the subscriber's oldest event. Called with the line's lock held, and gives it back.
    func callNext(unlocking lock: Lock)
}

/// The one line of everything that a publisher delivers on one queue: subscribers of different event types see the events in
/// the order in which they were published, as one thread would see them.
///
/// It schedules itself when it goes from idle to busy and is then worked off until it is empty: one block on the queue for a
/// whole burst. The handlers of a line run one at a time, also on a concurrent queue.
final class DeliveryLine: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let executor: LineExecutor
    let lockNumber = LineLocks.assign()
    private let lock: Lock
    /// Whose event is next, once for each event.
    private var order = Fifo<any LineMember>()
    private var isScheduled = false

    /// The queue is given back after so many events, so that others get their turn.
    private static let burst = 256

    init(executor: LineExecutor) {
        self.executor = executor
        lock = LineLocks.lock(number: lockNumber)
    }

    /// Called with the lock held.
    ///
    /// - Returns: Whether the line has to be scheduled, without the lock.
    func append(_ subscriber: any LineMember) -> Bool {
        order.append(subscriber)
        defer { isScheduled = true }
        return !isScheduled
    }

    func schedule() {
        executor.schedule { self.workOff() }
    }

    private func workOff() {
        for _ in 0..<Self.burst {
            lock.lock()
            guard let subscriber = order.takeFirst() else {
                isScheduled = false
                lock.unlock()
                return
            }
            subscriber.callNext(unlocking: lock)
        }
        schedule()
    }
}
