import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks
import Synchronization

/// The strand of a link: its inline handlers run on the thread that reads, until one of them is slow.
///
/// The thread that has read an event runs its handlers, which saves a switch of threads for each event. When a handler
/// takes long, the reading is handed to another thread, so that acknowledgements, answers and events for others go on.
/// An event with handlers in the strand queues behind the slow handler. The thread in that handler then works off the
/// queue, gives the strand up, and waits for its turn to read. At most two threads take such turns.
package final class LinkStrand: InlineStrand, @unchecked Sendable {
    // Sendable: guarded by `lock`, except what only the reading thread or only the strand's owner touches; the
    // comments there say so.

    private struct Waiting {
        let sequence: UInt64
        let name: UInt64
        let work: @Sendable () -> Void
    }

    private let lock = Lock()
    private let changed: Condition

    /// The sequence of the event whose handlers run, with ``handedOverBit`` once another thread reads; 0 if none run.
    private let current = Atomic<UInt64>(0)
    private static let handedOverBit: UInt64 = 1 << 63

    /// The name of the event whose handlers run, as a number; 0 between events.
    private let currentName = Atomic<UInt64>(0)
    /// The name of the event in hand, as a number; only the reading thread uses it.
    @exclusivity(unchecked) var arrivedName: UInt64 = 0

    /// The sequence of the event in hand, the one passed to its handlers; only the reading thread uses it.
    @exclusivity(unchecked) private var arrived: UInt64 = 0
    /// Whether the page in `head` says that handlers may get the event in hand; only the reading thread uses it.
    @exclusivity(unchecked) private var isTouched = false
    /// The page on which a worker shows its host what it is doing.
    ///
    /// Set before the reading begins.
    @exclusivity(unchecked) var head: OutboxHead?
    /// The turn to read: counts how often the reading was handed over.
    ///
    /// The turn changes with the lock held. The thread that has just left the strand reads the turn without the lock.
    /// As long as the reading is not handed over, no thread changes the turn; after a hand-off, ``leave()`` has waited
    /// for the change.
    @exclusivity(unchecked) private(set) var turn = 0

    /// The last event that ``eventHandled(_:)`` has noted.
    private let handled = Atomic<UInt64>(0)
    /// Whether the link has to be told at once when the events in hand are handled; set with the link's lock held.
    let mustSettle = Atomic<Bool>(false)

    @exclusivity(unchecked) private var queue: [Waiting] = []
    /// Where the queue begins: the entries before it are done.
    @exclusivity(unchecked) private var first = 0
    /// Whether a thread other than the reading thread owns the strand; changed with the lock held.
    private let isHandedOver = Atomic<Bool>(false)
    /// The event whose handlers are slow, for the spare thread.
    @exclusivity(unchecked) private var overdue: UInt64 = 0
    /// Whether a thread waits for its turn to read, or will in a moment.
    @exclusivity(unchecked) private var hasSpare = false
    @exclusivity(unchecked) private var isClosed = false

    init() {
        changed = Condition(lock: lock)
    }

    /// The event whose inline handlers run; 0 if none run.
    var handledNow: UInt64 { current.load(ordering: .relaxed) & ~Self.handedOverBit }

    /// The name of the event whose inline handlers run, as a number; 0 if none run.
    var nameNow: UInt64 { currentName.load(ordering: .relaxed) }

    /// The event whose inline handlers keep the link from being read; 0 for none.
    var blockingNow: UInt64 {
        let now = current.load(ordering: .relaxed)
        return now & Self.handedOverBit == 0 ? now : 0
    }

    // MARK: - The reading thread

    /// An event has arrived, and may need the strand.
    func eventArrived(_ sequence: UInt64) {
        arrived = sequence
        isTouched = false
        // Behind slow handlers the event does not begin yet, so it must not become a suspect.
        if !isHandedOver.load(ordering: .acquiring) { touch() }
    }

    /// The handlers of the event in hand have returned; the link need not be told before another thread asks for
    /// ``handledThrough``.
    ///
    /// Only the thread that reads calls this.
    func eventHandled(_ sequence: UInt64) {
        head?.closed(sequence)
        handled.store(sequence, ordering: .releasing)
    }

    /// The newest event that ``eventHandled(_:)`` has noted; the events before it in its run were handled too, unless
    /// the link was told otherwise.
    var handledThrough: UInt64 { handled.load(ordering: .acquiring) }

    package func touch() {
        if isTouched { return }
        isTouched = true
        head?.opened(arrived)
    }

    /// Whether no other thread is in slow handlers; if so, this stays true until this thread calls ``enter()``.
    package var isFree: Bool { !isHandedOver.load(ordering: .acquiring) }

    package func enter() -> Bool {
        // Only this thread can take the strand, so a free strand stays free.
        if isHandedOver.load(ordering: .acquiring) { return false }
        touch()
        begin(arrived, arrivedName, flags: 0)
        return true
    }

    package func leave() {
        head?.handlingFinished(handledNow)
        currentName.store(0, ordering: .relaxed)
        let isHandedOver = current.exchange(0, ordering: .acquiringAndReleasing) & Self.handedOverBit != 0
        // The thread that has just taken the turn may still hold the lock, and not have counted the turn yet.
        if isHandedOver { lock.withLock {} }
    }

    package func append(_ work: @escaping @Sendable () -> Void) {
        let isQueued = lock.withLock {
            guard isHandedOver.load(ordering: .relaxed) else { return false }
            queue.append(Waiting(sequence: arrived, name: arrivedName, work: work))
            return true
        }
        if isQueued { return }
        // The strand has just been given up, and only this thread can take it.
        touch()
        begin(arrived, arrivedName, flags: 0)
        work()
        leave()
    }

    private func begin(_ sequence: UInt64, _ name: UInt64, flags: UInt64) {
        head?.handlingBegan(sequence)
        currentName.store(name, ordering: .relaxed)
        current.store(sequence | flags, ordering: .releasing)
    }

    /// Whether the reading was handed to another thread while the calling thread had this turn and was in the strand.
    func isLost(_ turn: Int) -> Bool { self.turn != turn }

    /// Returns when the strand is empty; after that, the reading is not handed over.
    func close() {
        lock.withLock {
            isClosed = true
            changed.broadcast()
            while isHandedOver.load(ordering: .relaxed) { changed.wait() }
        }
    }

    // MARK: - The slow thread

    /// Runs what has queued up behind the slow handlers, then gives the strand up.
    func workOff() {
        while let next = takeNext() {
            head?.opened(next.sequence)
            begin(next.sequence, next.name, flags: Self.handedOverBit)
            next.work()
            head?.handlingFinished(next.sequence)
        }
    }

    private func takeNext() -> Waiting? {
        lock.withLock {
            guard first < queue.count else {
                queue = []
                first = 0
                currentName.store(0, ordering: .relaxed)
                current.store(0, ordering: .releasing)
                isHandedOver.store(false, ordering: .releasing)
                hasSpare = true
                changed.broadcast()
                return nil
            }
            defer { first += 1 }
            let next = queue[first]
            // Entries that are done are removed now and then, not one by one.
            if first >= 256 {
                queue.removeFirst(first)
                first = 0
            }
            return next
        }
    }

    /// Waits for the calling thread's turn to read, and returns it; nil when there is nothing to read any more.
    func waitForTurn() -> Int? {
        lock.withLock {
            hasSpare = true
            defer { hasSpare = false }
            while !isClosed {
                if takeTurn() { return turn }
                changed.wait()
            }
            return nil
        }
    }

    /// Takes the turn to read if the handlers of the overdue event still run; with the lock held.
    private func takeTurn() -> Bool {
        let sequence = overdue
        overdue = 0
        guard sequence != 0 else { return false }
        let (isTaken, _) = current.compareExchange(
            expected: sequence,
            desired: sequence | Self.handedOverBit,
            ordering: .acquiringAndReleasing
        )
        if isTaken {
            isHandedOver.store(true, ordering: .relaxed)
            turn += 1
        }
        return isTaken
    }

    // MARK: - The watching thread

    /// What to do about a slow handler.
    enum Relief {
        /// A spare thread has been woken.
        case told
        /// There is no spare thread; the caller starts one that begins with ``waitForTurn()``.
        case needsThread
        /// The reading has ended, or another thread reads already.
        case none
    }

    /// Asks for another thread to go on reading, because the handlers of this event take long.
    func relieve(_ sequence: UInt64) -> Relief {
        lock.withLock {
            guard !isClosed, !isHandedOver.load(ordering: .relaxed) else { return .none }
            overdue = sequence
            guard hasSpare else {
                hasSpare = true
                return .needsThread
            }
            changed.broadcast()
            return .told
        }
    }

    /// No further thread could be started.
    func threadIsMissing() {
        lock.withLock { hasSpare = false }
    }
}
