public import Locks
public import Synchronization

/// What one thread is doing with subscribers at this moment, for other threads to read.
///
/// To keep a list alive without a lock, a publishing thread writes into its slot what it uses. A thread that removes a
/// subscriber looks in all slots whether another thread still uses the old list (hazard pointers; M. Michael, "Hazard
/// Pointers: Safe Memory Reclamation for Lock-Free Objects", IEEE TPDS 15(6), 2004). Each slot has cache lines of its
/// own, and only its own thread writes to it.
///
/// After the thread has set a word with `set`, it reads a word that other threads write: whether the list is still the
/// present one, whether the gate is closed, whether a caller waits for the gate. A fence has to lie between write and
/// read; where the system allows it, ``DeliverySlots`` makes that fence for the thread.
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

    // Only the slot's own thread reads the properties below. They lie in the slot because they are written for each
    // event, and must not share a cache line with data of other threads.

    /// Whether an event is in hand: the thread is delivering it.
    @usableFromInline var isDelivering = false
    /// Whether a handler has published an event that waits for its turn.
    @usableFromInline var hasDeferred = false
    /// The publisher that makes the context of the event in hand if a handler asks for it; valid only while delivering.
    @usableFromInline var publisher: Unmanaged<EventPublisher>?

    /// The bit of ``gate`` that is set while the handler runs.
    @usableFromInline static var isRunning: UInt { 1 }

    /// Whether ``DeliverySlots`` makes the fences, so that this thread makes none.
    @usableFromInline let isFenceElsewhere = AsymmetricFence.isAvailable

    init() {}

    @inlinable func setSubscribers(_ address: UInt) { set(subscribers, to: address) }

    @inlinable func setGate(_ value: UInt) { set(gate, to: value) }

    func setBorrowed(_ address: UInt) { set(borrowed, to: address) }

    /// Whether ``setBorrowed(_:)`` has named a list; only for the slot's own thread.
    var isBorrowing: Bool { borrowed.load(ordering: .relaxed) != 0 }

    /// Writes a word: after all that the thread has done with what the word named, and before all that it reads next.
    @inlinable
    func set(_ word: borrowing Atomic<UInt>, to value: UInt) {
        if isFenceElsewhere {
            // The fences also keep the optimizer from moving a reference count past the store, which it may do even if
            // the store is atomic.
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

/// The slots of all living threads that have a `DeliveryThread`.
///
/// A change of the present list or of a gate's state comes first, then ``fence()``, which acts on all threads, then the
/// look at the slots. So each other thread shows in its slot what it uses, or sees the change.
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

    /// Shows the caller what other threads have written into their slots, and shows them what the caller has changed.
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
