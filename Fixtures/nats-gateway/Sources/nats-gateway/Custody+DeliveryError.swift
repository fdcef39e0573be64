import DomainEvents
import NATSGateway

/// What an error of the host's publisher means for an event of another node.
extension Custody {
    /// - Parameter sentence: the error's sentence.
    init(after code: DeliveryError.Code, _ sentence: String) {
        switch code {
        // This event alone is at fault.
        case .notEncodable, .eventTooLarge, .nameHasType: self = .refused(sentence)
        // A large event may find no room behind those that wait.
        case .outboxFull: self = .notNow(sentence)
        // The host ends, and this process ends with it.
        case .shuttingDown, .workerUnavailable: self = .ended
        // The gateway had this right at its start, so the specification has changed.
        case .mayNotImport: self = .failed(.end(Self.failure(sentence)))
        // A call that only sends never throws these.
        case .noSubscriber, .refused, .deadLettered, .timedOut, .insideTransaction:
            self = .failed(.again(Self.failure(sentence)))
        }
    }

    /// What any error means.
    init(after error: any Error) {
        switch error {
        case let error as DeliveryError: self.init(after: error.code, error.description)
        case let error as NATSGateway.ImportedEvent.Unusable: self = .refused(error.description)
        // The feed was stopped.
        case is CancellationError: self = .ended
        default: self = .failed(.again(Self.failure("\(error)")))
        }
    }

    private static func failure(_ reason: String) -> String { "the host takes no events: \(reason)" }
}
