import BridgeControl
import BridgeProtocol
import DomainEvents
import EventRouting

/// Answers the commands about dead letters: lists, shows, redelivers and discards them.
///
/// Inline handlers carry out the commands and answer them, as a rule on the thread that reads the sender's link. A
/// command may look through all letters after the last that its sender knows, but its answer has 100 of them at most.
/// The letters are not locked while an event is offered again.
final class DeadLetterService: Sendable {
    private let core: HostCore

    init(_ core: HostCore) {
        self.core = core
    }

    /// Takes commands until the subscriptions end.
    func open() -> [Subscription] {
        let publisher = core.publisher
        return [
            publisher.subscribe(to: DeadLettersRequested.self) { [weak self] in
                if let self { publisher.publish(list($0)) }
            },
            publisher.subscribe(to: DeadLetterRequested.self) { [weak self] in
                if let self { publisher.publish(DeadLetterReported(letter: shown($0.letter))) }
            },
            publisher.subscribe(to: DeadLetterRedeliveryRequested.self) { [weak self] in
                if let self { publisher.publish(DeadLetterSettled(once($0.letter, redeliver))) }
            },
            publisher.subscribe(to: DeadLetterDiscardRequested.self) { [weak self] in
                if let self { publisher.publish(DeadLetterSettled(once($0.letter, discard))) }
            },
        ]
    }

    private func list(_ command: DeadLettersRequested) -> DeadLettersReported {
        let found = core.deadLetters.letters(after: command.after).lazy.filter { letter in
            command.event?.hasBytes(of: letter.event.name) ?? true
                && command.worker?.hasBytes(of: letter.receiver) ?? true
        }
        let first = Array(found.prefix(DeadLettersReported.mostLetters + 1))
        return DeadLettersReported(
            letters: first.prefix(DeadLettersReported.mostLetters).map { DeadLetterReport($0) },
            isComplete: first.count <= DeadLettersReported.mostLetters
        )
    }

    private func shown(_ letter: UInt64) -> DeadLetterReport? {
        core.deadLetters.letter(letter).map { DeadLetterReport($0, withPayload: true) }
    }

    /// Refuses a command that comes again: the link had ended before the sender knew that the command had arrived.
    private func once(_ letter: UInt64, _ command: (UInt64) -> DeadLetterOutcome) -> DeadLetterOutcome {
        guard EventContext.current?.attempt ?? 1 > 1 else { return command(letter) }
        return DeadLetterOutcome(
            letter: letter,
            kind: .refused,
            refusal: "the link broke off while the command was on its way, so it may have been carried out already"
        )
    }

    private func redeliver(_ letter: UInt64) -> DeadLetterOutcome {
        do {
            guard let done = try core.router.redeliver(letter) else {
                return DeadLetterOutcome(letter: letter, kind: .unknown)
            }
            return DeadLetterOutcome(letter: letter, done)
        } catch {
            let refusal = error.description.shortened()
            return DeadLetterOutcome(letter: letter, kind: .refused, worker: error.worker, refusal: refusal)
        }
    }

    private func discard(_ letter: UInt64) -> DeadLetterOutcome {
        guard let gone = core.deadLetters.discard(letter) else {
            return DeadLetterOutcome(letter: letter, kind: .unknown)
        }
        return DeadLetterOutcome(letter: letter, kind: .discarded, worker: gone.receiver)
    }
}

extension DeadLetterOutcome {
    fileprivate init(letter: UInt64, _ done: Redelivery) {
        switch done.outcome {
        case .accepted: self.init(letter: letter, kind: .accepted, worker: done.receiver)
        case .handled: self.init(letter: letter, kind: .handled, worker: done.receiver)
        case .refused(let reason):
            self.init(letter: letter, kind: .refused, worker: done.receiver, refusal: reason.shortened())
        }
    }
}

extension DeadLetterReport {
    fileprivate init(_ record: DeadLetterRecord, withPayload: Bool = false) {
        let payload = record.event.payload
        self.init(
            letter: record.number,
            event: record.event.name,
            id: record.event.context.id.description,
            worker: record.receiver,
            cause: record.cause.rawValue,
            reasons: record.reasons.suffix(Self.mostReasons).map { $0.shortened() },
            attempts: record.event.attempts,
            strikes: record.event.strikes.count,
            nanosecondsSinceEpoch: record.nanosecondsSinceEpoch,
            payloadBytes: payload.count,
            payload: withPayload && payload.count <= Self.mostPayloadBytes ? payload : nil
        )
    }
}
