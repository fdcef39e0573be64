public import Locks
public import Synchronization

/// What one thread is doing with subscribers at this moment, for other threads to read.
///
/// A publishing thread counts no references and takes no lock: it writes down here what it uses. A thread that removes
/// a subscriber checks here whether another thread still uses the old list (hazard pointers; M. Michael, "Hazard
/// Pointers: Safe Memory Reclamation for Lock-Free Objects", IEEE TPDS 15(6), 2004). Each slot has cache lines of its
/// own, and only its own thread writes to it.
///
/// After each word that the thread writes here it reads a word of other threads: whether the list is still the present
/// one, whether the gate is closed, whether a caller waits for the gate. The two need a fence between them, which
/// ``DeliverySlots`` bears where it can.
@usableFromInline
struct DeliverySlot: ~Copyable {
    /// The list whose inline handlers the thread calls; 0 for none.
    ///
    /// As long as this names a list, the handlers in the list are not released.
    @usableFromInline let subscribers = Atomic<UInt>(0)
    /// The list to which the thread is taking a reference, or whose only receiver it is calling; 0 for none.
    private let borrowed = Atomic<UInt>(0)
    /// The gate of the handler that is being entered, or, with ``isRunning`` set, of the handler that runs; 0 for none.
    @usableFromInline let gate = Atomic<UInt>(0)

    // Only the slot's own thread reads the properties below. They lie here because each event writes to them, and they
    // must not share a cache line with data of other threads.

    /// Whether an event is in hand.
    @usableFromInline var isDelivering = false
    /// Whether a handler has published an event that waits for its turn.
    @usableFromInline var hasDeferred = false
    /// The publisher that makes the context of the event in hand if a handler asks for it; valid only while delivering.
    @usableFromInline var publisher: Unmanaged<EventPublisher>?

    /// The bit of ``gate`` that is set while the handler runs.
    @usableFromInline static var isRunning: UInt { 1 }

    /// Whether ``DeliverySlots`` bears the fences.
    @usableFromInline let isFenceElsewhere = AsymmetricFence.isAvailable

    init() {}

    @inlinable func setSubscribers(_ address: UInt) { set(subscribers, to: address) }

    @inlinable func setGate(_ value: UInt) { set(gate, to: value) }

    func setBorrowed(_ address: UInt) { set(borrowed, to: address) }

    /// Whether ``setBorrowed(_:)`` has named a list; only for the slot's own thread.
    var isBorrowing: Bool { borrowed.load(ordering: .relaxed) != 0 }

    /// Writes a word, behind all that the thread has done with what the word named, and ahead of all that it reads
    /// next.
    @inlinable
    func set(_ word: borrowing Atomic<UInt>, to value: UInt) {
        if isFenceElsewhere {
            // The fences also keep the optimizer from moving the counting of a reference past the store: it may do that
            // even with an atomic store.
            AsymmetricFence.light()
            word.store(value, ordering: .releasing)
            AsymmetricFence.light()
        } else {
            _ = word.exchange(value, ordering: .sequentiallyConsistent)
        }
    }

    fileprivate func names(subscribers address: UInt) -> Bool {
        subscribers.load(ordering: .sequentiallyConsistent) == address
            || borrowed.load(ordering: .sequentiallyConsistent) == address
    }
}

/// The slots of all threads that have ever published and still live.
///
/// A thread that looks at them has changed something before: the present list, a gate's state. Between the two it calls
/// ``fence()`` in the name of all threads. So each thread's slot shows what the thread uses, or the thread sees the
/// change.
enum DeliverySlots {
    private static let lock = Lock()
    // Guarded by `lock`: the compiler cannot see that.
    nonisolated(unsafe) private static var all: [UnsafeMutablePointer<DeliverySlot>] = []

    static func make() -> UnsafeMutablePointer<DeliverySlot> {
        let slot = allocateAlone(DeliverySlot.self)
        slot.initialize(to: DeliverySlot())
        lock.withLock { all.append(slot) }
        return slot
    }

    static func remove(_ slot: UnsafeMutablePointer<DeliverySlot>) {
        lock.withLock { all.removeAll { $0 == slot } }
        slot.deinitialize(count: 1)
        UnsafeMutableRawPointer(slot).deallocate()
    }

    /// Makes what threads have written into their slots visible to the caller, and what the caller has changed to them.
    static func fence() {
        // A thread that makes its slot later sees the change, because it takes the lock.
        if lock.withLock({ all.isEmpty }) { return }
        AsymmetricFence.heavy()
    }

    /// Whether some thread calls the receivers of this list, or is about to take a reference to it.
    static func isUsing(subscribers address: UInt) -> Bool {
        lock.withLock { all.contains { $0.pointee.names(subscribers: address) } }
    }

    /// Whether some thread has this value in its ``DeliverySlot/gate``.
    static func contains(gate value: UInt) -> Bool {
        lock.withLock { all.contains { $0.pointee.gate.load(ordering: .sequentiallyConsistent) == value } }
    }
}
