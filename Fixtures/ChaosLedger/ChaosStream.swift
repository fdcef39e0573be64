/// One publishing thread or task of a party: its events are numbered from 1 in each life of the party.
package enum ChaosStream: UInt8, CaseIterable, Sendable {
    case hostToA
    case hostToASecond
    case hostToB
    case hostToBSecond
    case hostToBoth
    case aToHost
    case aToB
    /// Published by the handler of the host's events.
    case aFromHandler
    case bToHost
    case bToA
    case bFromHandler
    /// By `publish`, from a thread.
    case sourceThread
    /// By `send`, from a task.
    case sourceTask
    /// By `publish`, from a task.
    case sourceToPool
    case firstAsks
    /// Published by the handler of the first worker's events.
    case middleReplies
    case hostToPool
    case hostToPoolSecond
    case hostToPoolThird
    case hostToDemand
    case demandThread
    case hostToOldest
    case hostToNewest
    case hostToLatest
    case hostToGuest
    case guestThread
    case askerDelivers
    case askerRequests
    /// Published by the handler of the asker's questions.
    case sourceAnswers
    case clientToHost

    package var origin: Party {
        switch self {
        case .hostToA, .hostToASecond, .hostToB, .hostToBSecond, .hostToBoth, .hostToPool, .hostToPoolSecond,
            .hostToPoolThird, .hostToDemand, .hostToOldest, .hostToNewest, .hostToLatest, .hostToGuest:
            .host
        case .aToHost, .aToB, .aFromHandler: .a
        case .bToHost, .bToA, .bFromHandler: .b
        case .sourceThread, .sourceTask, .sourceToPool, .sourceAnswers: .source
        case .firstAsks: .first
        case .middleReplies: .middle
        case .demandThread: .demand
        case .guestThread: .guest
        case .askerDelivers, .askerRequests: .asker
        case .clientToHost: .client
        }
    }

    package var kind: ChaosKind {
        switch self {
        case .hostToA, .hostToASecond, .bToA: .forA
        case .hostToB, .hostToBSecond, .aToB: .forB
        case .hostToBoth: .forBoth
        case .aToHost, .bToHost: .forHost
        case .aFromHandler: .fromA
        case .bFromHandler: .fromB
        case .sourceThread, .sourceTask: .fromSource
        case .sourceToPool, .hostToPool, .hostToPoolSecond, .hostToPoolThird: .keyed
        case .firstAsks: .ask
        case .middleReplies: .reply
        case .hostToDemand: .forDemand
        case .demandThread: .fromDemand
        case .hostToOldest: .oldest
        case .hostToNewest: .newest
        case .hostToLatest: .latest
        case .hostToGuest: .forGuest
        case .guestThread: .fromGuest
        case .askerDelivers: .errand
        case .askerRequests: .question
        case .sourceAnswers: .answer
        case .clientToHost: .fromClient
        }
    }

    /// The parties that the stream's events are for; in a pool, one member gets them.
    package var receivers: [Party] { kind.receivers + [.witness] }

    /// The receiver whose progress holds the sender back: the worker that the stream loads, or else the witness, which
    /// gets all events.
    package var pacer: Party {
        switch self {
        case .aToB: .b
        case .bToA: .a
        default: .witness
        }
    }

    /// How large its events are.
    package var size: ChaosSize {
        switch self {
        case .hostToBSecond, .sourceTask, .hostToGuest, .clientToHost: .mixed
        case .firstAsks, .middleReplies: .page
        default: .small
        }
    }
}

/// How large the events of a stream are.
package enum ChaosSize: Sendable, Hashable {
    /// Mostly below 64 bytes; about 1 in 100 has up to 4 KiB, 1 in 4,096 up to 64 KiB.
    case small
    /// The same, and 1 in 128 is so large that it is placed instead of copied.
    case mixed
    /// A kilobyte each.
    case page
}

extension ChaosKind {
    /// The parties that want events of this kind, beside the witness, which wants all events.
    package var receivers: [Party] {
        switch self {
        case .forHost, .fromSource, .fromDemand, .fromGuest, .fromClient: [.host]
        case .forA: [.a]
        case .forB: [.b]
        case .forBoth: [.a, .b, .client]
        case .fromA: [.host, .b]
        case .fromB: [.host, .a]
        case .ask: [.middle]
        case .reply: [.last]
        case .keyed: [.pool]
        case .forDemand: [.demand]
        case .oldest, .newest, .latest: [.lossy]
        case .forGuest: [.guest]
        case .errand, .question: [.source]
        case .answer: [.asker]
        }
    }
}
