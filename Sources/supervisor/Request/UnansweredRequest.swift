import BridgePlatform
import DomainEvents
import JSONText

/// A request that was not answered in time; says in a sentence what became of its event.
struct UnansweredRequest: Sendable, Hashable {
    /// What is known about the request's event.
    enum Fate: Sendable, Hashable {
        /// Every worker that wants the event has handled it.
        case handled(by: [String])
        /// The event was sent, and not every worker has said that it has handled it.
        case underWay(DeliveryProgress)
        /// The workers that want the event never say what they have handled.
        case unconfirmed
        /// The event was still in this process when its time was over, and it will not be sent any more.
        case unsent
        case unknown
    }

    let name: String
    /// The event's id in all other processes.
    let id: String
    let answers: [String]
    let limit: Duration
    let fate: Fate
    let omens: AnswerWatch.Omens

    var sentence: String {
        let awaited = answers.joined(separator: " or ")
        var parts = ["\(name) \(id) was not answered by \(awaited) within \(DurationText.text(limit))"]
        parts += clauses
        if omens.hasMissed { parts.append("an answer may have been dropped, as there was no room for it") }
        if omens.uncaused > 0 {
            let events = omens.uncaused == 1 ? "1 of these events" : "\(omens.uncaused) of these events"
            parts.append("\(events) came without a cause: an answer is published inside the handler")
        }
        return parts.joined(separator: "; ")
    }

    private var clauses: [String] {
        switch fate {
        case .handled(let workers): return ["it was handled by \(list(workers))"]
        case .unconfirmed: return ["the processes that want it do not report whether they handled it"]
        case .unsent: return [PublishFailure.unsent]
        case .unknown: return ["it is not known whether it was handled"]
        case .underWay(let progress):
            let handled = progress.handled.isEmpty ? [] : ["it was handled by \(list(progress.handled))"]
            // The supervisor has not said which workers get the event, or the event was just leaving.
            guard !progress.unheard.isEmpty, progress.unheard != [Self.host] else {
                return handled + ["it may still be handled"]
            }
            return handled + ["it was not handled yet by \(list(progress.unheard)), and may still be"]
        }
    }

    /// The name by which a host calls itself.
    private static let host = "host"

    private func list(_ workers: [String]) -> String { workers.joined(separator: ", ") }
}
