import BridgePlatform
import DomainEvents
import JSONText

/// Why an event was not handled, as a sentence and an exit status.
struct PublishFailure: Sendable, Hashable {
    let status: ProgramStatus
    let sentence: String

    /// - Parameters:
    ///   - error: the error that a delivery has thrown.
    ///   - known: the names that the host wants; the sentence suggests a similar one in place of a wrong name.
    ///   - idElsewhere: returns the id that an event of this process has in all other processes.
    init(_ error: any Error, of name: String, among known: [String], idElsewhere: (EventID) -> EventID?) {
        guard let error = error as? DeliveryError else {
            (status, sentence) = (.unhandledEvents, "\(name): \(error)")
            return
        }
        let ids = error.id.map { (own: "\($0)", elsewhere: "\(idElsewhere($0) ?? $0)") }
        let description = ids.map { "\(error)".replacing($0.own, with: $0.elsewhere) } ?? "\(error)"
        switch error.code {
        case .noSubscriber:
            status = .workerUnavailable
            let others = known.filter { !$0.hasBytes(of: name) && !WorkerReporter.reports.contains(EventName($0)) }
            sentence = "no worker wants \(ShownValue.text(name))\(NearestName.question(for: name, among: others))"
        case .refused, .notEncodable, .eventTooLarge, .nameHasType, .mayNotImport:
            (status, sentence) = (.badInput, description)
        case .workerUnavailable:
            (status, sentence) = (.workerUnavailable, description)
        case .timedOut:
            (status, sentence) = (.unhandledEvents, "\(description); it may still be handled")
        case .outboxFull, .shuttingDown, .deadLettered, .insideTransaction:
            (status, sentence) = (.unhandledEvents, description)
        }
    }

    var asRunFailure: RunFailure {
        RunFailure(status: status, description: "supervisor: \(TerminalText.harmless(sentence))")
    }
}
