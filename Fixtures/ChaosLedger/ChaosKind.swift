import DomainEvents

/// The kinds of events of a run, each with a name of its own.
package enum ChaosKind: UInt8, CaseIterable, Sendable {
    case forHost
    case forA
    case forB
    case forBoth
    case fromA
    case fromB
    case fromSource
    case ask
    case reply
    case keyed
    case forDemand
    case fromDemand
    case oldest
    case newest
    case latest
    case forGuest
    case fromGuest
    case errand
    case question
    case answer
    case fromClient

    /// The type of its events.
    package var type: any ChaosEvent.Type {
        switch self {
        case .forHost: ForHost.self
        case .forA: ForA.self
        case .forB: ForB.self
        case .forBoth: ForBoth.self
        case .fromA: FromA.self
        case .fromB: FromB.self
        case .fromSource: FromSource.self
        case .ask: Ask.self
        case .reply: Reply.self
        case .keyed: Keyed.self
        case .forDemand: ForDemand.self
        case .fromDemand: FromDemand.self
        case .oldest: Oldest.self
        case .newest: Newest.self
        case .latest: Latest.self
        case .forGuest: ForGuest.self
        case .fromGuest: FromGuest.self
        case .errand: Errand.self
        case .question: Question.self
        case .answer: Answer.self
        case .fromClient: FromClient.self
        }
    }

    /// The kind of the events with this name; nil for the name of any other event.
    package init?(eventName: String) {
        guard let kind = Self.allCases.first(where: { $0.type.eventName == eventName }) else { return nil }
        self = kind
    }
}
