/// One publishing thread or task of a party: what it publishes is numbered from 1 in each life of the party.
package enum ChaosStream: UInt8, CaseIterable, Sendable {
    case hostToA
    case hostToASecond
    case hostToB
    case hostToBSecond
    case hostToBoth
    case aToHost
    case aToB
    /// Published by the handler of what came from the host.
    case aFromHandler
    case bToHost
    case bToA
    case bFromHandler

    package var origin: Party {
        switch self {
        case .hostToA, .hostToASecond, .hostToB, .hostToBSecond, .hostToBoth: .host
        case .aToHost, .aToB, .aFromHandler: .a
        case .bToHost, .bToA, .bFromHandler: .b
        }
    }

    /// Everybody who has to handle each of its events.
    package var receivers: [Party] {
        switch self {
        case .hostToA, .hostToASecond, .bToA: [.a]
        case .hostToB, .hostToBSecond, .aToB: [.b]
        case .hostToBoth: [.a, .b]
        case .aToHost, .bToHost: [.host]
        case .aFromHandler: [.host, .b]
        case .bFromHandler: [.host, .a]
        }
    }
}
