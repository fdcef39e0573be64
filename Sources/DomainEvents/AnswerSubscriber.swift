import Locks

/// Takes the answers to one request: on the thread that brings them, ahead of all handlers, so that a request that is waited for
/// inside a handler is answered.
final class AnswerSubscriber<Answer: DomainEvent>: DeferredSubscriber, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private var arrived: [Answer] = []
    private let request: EventID
    private let matches: @Sendable (Answer) -> Bool
    private let take: @Sendable (Answer) -> Void

    init(
        to request: EventID,
        where matches: @escaping @Sendable (Answer) -> Bool,
        _ take: @escaping @Sendable (Answer) -> Void
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
        key: AnyHashable?
    ) -> AppendOutcome {
        // What is fresh was caused by nothing.
        guard case .full(let context) = stamp, context.root == request, context.id != request else { return .settled }
        arrived.append(event.copy(as: Answer.self))
        return [.wake, .settled]
    }

    override func settle(_ outcome: AppendOutcome) {
        guard outcome.contains(.wake) else { return }
        let arrived = lock.withLock {
            defer { self.arrived = [] }
            return self.arrived
        }
        for answer in arrived where gate.enter() {
            if matches(answer) { take(answer) }
            gate.exit()
        }
    }
}
