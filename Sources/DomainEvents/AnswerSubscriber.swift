import Locks
import Synchronization

/// Takes the answers to one request on the thread that publishes or receives them, ahead of the inline handlers; so
/// even a handler can wait for an answer.
final class AnswerSubscriber<Answer: DomainEvent>: DeferredSubscriber, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock` or atomic.
    private var arrived: [(event: Answer, isCaused: Bool, thread: ObjectIdentifier)] = []
    /// How many matching events came without a cause; the task that ends overdue waits reads this without a lock.
    private let uncausedCount = Atomic(0)
    private let request: EventID
    private let matches: @Sendable (Answer) -> Bool
    private let take: @Sendable (Answer, LaterRecorders) -> Void

    /// - Parameter take: gets the answer, and the journals that got it at the same time.
    init(
        to request: EventID,
        where matches: @escaping @Sendable (Answer) -> Bool,
        _ take: @escaping @Sendable (Answer, LaterRecorders) -> Void
    ) {
        self.request = request
        self.matches = matches
        self.take = take
        super.init(Answer.self, site: SubscriptionSite(file: #fileID, line: #line), source: request.source)
    }

    override func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        _ preparation: EventPreparation
    ) -> AppendOutcome {
        // A fresh event has no cause. An event of another machine may have a known root but no known cause.
        let isCaused: Bool
        if let context = stamp.known, context.cause != nil || context.root != context.id || context.id == request {
            guard context.root == request, context.id != request else { return .settled }
            isCaused = true
        } else {
            isCaused = false
        }
        arrived.append((event.copy(as: Answer.self), isCaused, ObjectIdentifier(DeliveryThread.current)))
        return [.settled, .answers]
    }

    /// A phrase that says how many events could be the answer but came without a cause; nil if none did.
    ///
    /// One of these events may be the answer: a handler may have published it in a task or on a thread that it made.
    var uncaused: String? {
        let count = uncausedCount.load(ordering: .relaxed)
        return count == 0 ? nil : "\(count) \(Answer.eventName) came without a cause"
    }

    override func takeAnswers(recordedBy recorders: LaterRecorders) {
        // Another thread's answer may have gone to other journals; that thread takes it.
        let thread = ObjectIdentifier(DeliveryThread.current)
        let arrived = lock.withLock {
            let own = self.arrived.filter { $0.thread == thread }
            self.arrived.removeAll { $0.thread == thread }
            return own
        }
        for answer in arrived where gate.enter() {
            if matches(answer.event) {
                if answer.isCaused { take(answer.event, recorders) } else { uncausedCount.add(1, ordering: .relaxed) }
            }
            gate.exit()
        }
    }
}

/// The subscription of a request to one type of answer.
struct AwaitedAnswers: Sendable {
    /// The request takes answers as long as this subscription lives.
    let subscription: Subscription

    /// Returns ``AnswerSubscriber/uncaused``.
    let uncaused: @Sendable () -> String?
}
