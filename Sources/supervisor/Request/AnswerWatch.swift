import BridgeProtocol
import DomainEvents
import EventRouting
import Locks

/// Finds the answer to one request: the first event with an answer's name that the request has caused, through any
/// number of steps.
final class AnswerWatch: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    struct Answer {
        let event: PrintedEvent
        /// Whether the answer is the event that means failure.
        let isFailure: Bool
    }

    /// Observations that may explain why there is no answer.
    struct Omens: Sendable, Hashable {
        /// How many events of the answer's names came without a cause.
        var uncaused = 0
        /// Whether events of the answer's names were dropped on the way.
        var hasMissed = false
    }

    private let answer: EventName
    private let failure: EventName?
    private let found: @Sendable (Answer) -> Void
    private let lock = Lock()
    private var request: EventID?
    private var isOver = false
    private var noted = Omens()

    /// - Parameters:
    ///   - answer: the name of the event that answers.
    ///   - failure: the name of the event that answers if the request has failed.
    ///   - found: called once, on the thread on which the answer arrives.
    init(for answer: String, or failure: String?, found: @escaping @Sendable (Answer) -> Void) {
        (self.answer, self.failure) = (EventName(answer), failure.map { EventName($0) })
        self.found = found
    }

    /// The names that the client has to ask for.
    var names: Set<EventName> { Set([answer]).union(failure.map { [$0] } ?? []) }

    var omens: Omens { lock.withLock { noted } }

    /// Begins to look for the answer to this event.
    func begin(for request: EventID) { lock.withLock { self.request = request } }

    @Sendable
    func take(_ event: PassingEvent) {
        let name = EventName(event.name)
        guard name == answer || name == failure else { return }
        let context = event.context
        let isAnswer = lock.withLock {
            guard let request, !isOver, context.id != request else { return false }
            // An event from another machine may have a root, but no cause.
            if context.cause == nil, context.root == context.id { noted.uncaused += 1 }
            isOver = context.root == request
            return isOver
        }
        if isAnswer { found(Answer(event: PrintedEvent(fromHost: event), isFailure: name == failure)) }
    }

    @Sendable
    func take(_ gap: Gap) {
        let name = EventName(gap.name)
        guard name == answer || name == failure else { return }
        lock.withLock { noted.hasMissed = true }
    }
}
