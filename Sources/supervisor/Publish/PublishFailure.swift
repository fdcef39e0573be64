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
            (status, sentence) = (.unhandledEvents, "\(description); \(Self.outlook(error.progress))")
        case .outboxFull, .shuttingDown, .deadLettered, .insideTransaction:
            (status, sentence) = (.unhandledEvents, description)
        }
    }

    /// What is known about an event whose time is over.
    ///
    /// - Parameter progress: nil if the event has not left this process, and never will.
    private static func outlook(_ progress: DeliveryProgress?) -> String {
        guard let progress else { return unsent }
        let handled = progress.handled.isEmpty ? "" : "it was handled by \(progress.handled.joined(separator: ", ")); "
        return "\(handled)it may still be handled"
    }

    /// What is said of an event that was still in this process when its time was over.
    static let unsent = "it did not leave in time, so it was not published"

    var asRunFailure: RunFailure {
        RunFailure(status: status, description: "supervisor: \(TerminalText.harmless(sentence))")
    }
}
