import Locks

/// An event on its way to a handler that runs elsewhere.
struct PendingDelivery<E: DomainEvent>: Sendable {
    let event: E
    let context: EventContext
    let tracker: HandlingTracker?
}

/// What is left to do for a subscriber after its lock was given back.
struct AppendOutcome: OptionSet {
    let rawValue: UInt8
    /// Somebody has to be told that there is work.
    static let wake = AppendOutcome(rawValue: 1)
    /// The event will not be handled, or need not be waited for: its tracker is to be told.
    static let settled = AppendOutcome(rawValue: 2)
    /// Something that was waiting has lost its place and is to be let go of.
    static let displaced = AppendOutcome(rawValue: 4)
}

/// The locks of everything that takes events over from publishing threads.
///
/// An event is put into all lines that want it in one step, under all their locks, before a handler elsewhere can begin: else
/// what that handler publishes could reach another line ahead of the event that caused it. Locks are taken in the order of
/// their numbers, so nobody waits in a circle. A fixed number of them bounds what one thread holds at once.
enum LineLocks {
    private static let locks = (0..<32).map { _ in Lock() }
    private static let numbering = Lock()
    // Guarded by `numbering`: the compiler cannot see that.
    nonisolated(unsafe) private static var next = 0

    /// The number of the lock for something new: all are used equally often.
    static func assign() -> Int {
        numbering.withLock {
            next += 1
            return next % locks.count
        }
    }

    static func lock(number: Int) -> Lock { locks[number] }

    static func lockAll(_ mask: UInt32) {
        var left = mask
        while left != 0 {
            locks[left.trailingZeroBitCount].lock()
            left &= left - 1
        }
    }

    static func unlockAll(_ mask: UInt32) {
        var left = mask
        while left != 0 {
            locks[left.trailingZeroBitCount].unlock()
            left &= left - 1
        }
    }
}

/// A handler that runs elsewhere: on a queue, in a task, or as the consumer of a sequence.
class DeferredSubscriber<E: DomainEvent>: AnySubscriber, @unchecked Sendable {
    // Sendable: subclasses guard what they add with `lock`.

    let lock: Lock
    let lockMask: UInt32
    let room: Room

    init(site: SubscriptionSite, lockNumber: Int = LineLocks.assign(), roomLimit: Int = Room.lineLimit) {
        lock = LineLocks.lock(number: lockNumber)
        lockMask = 1 << UInt32(lockNumber)
        room = Room(lock: lock, limit: roomLimit)
        super.init(site: site)
    }

    /// Whether ``key(of:)`` gives anything.
    var hasKeys: Bool { false }

    /// What says that a younger event makes an older one worthless; asked without any lock held.
    func key(of event: E) -> AnyHashable? { nil }

    /// Takes the event over.
    ///
    /// Called with `lock` held; never waits and calls nobody.
    func append(_ delivery: PendingDelivery<E>, key: AnyHashable?) -> AppendOutcome { [] }

    /// Does what `append` has left over.
    ///
    /// Called without any lock held.
    func settle(_ outcome: AppendOutcome) {}
}

extension Array {
    /// Takes an event over for each subscriber, in one step for all of them, then wakes those who have to be told.
    func post<E>(_ delivery: PendingDelivery<E>, lockMask: UInt32, hasKeys: Bool)
    where Element == DeferredSubscriber<E> {
        if hasKeys {
            post(delivery, lockMask: lockMask, keys: map { $0.key(of: delivery.event) })
        } else {
            post(delivery, lockMask: lockMask, keys: nil)
        }
    }

    private func post<E>(_ delivery: PendingDelivery<E>, lockMask: UInt32, keys: [AnyHashable?]?)
    where Element == DeferredSubscriber<E> {
        withUnsafeTemporaryAllocation(of: AppendOutcome.self, capacity: count) { outcomes in
            LineLocks.lockAll(lockMask)
            for index in indices { outcomes[index] = self[index].append(delivery, key: keys?[index]) }
            LineLocks.unlockAll(lockMask)
            for index in indices {
                let outcome = outcomes[index]
                if outcome.isEmpty { continue }
                self[index].settle(outcome)
                if outcome.contains(.settled) { delivery.tracker?.handlerReturned(at: self[index].site, failure: nil) }
            }
        }
    }
}
