import DomainEvents
import NATSGateway
import Synchronization

/// Counts how many times events with the same first cause have crossed from one node to another, one after the other.
///
/// A handler may publish a new event for each that it gets from another node, and a handler there may do the same. No
/// event of such a circle has been anywhere before, but all of them have the same first cause. So the gateway remembers
/// how far the events have come that it brought, by their first causes: an event that follows one of them goes one
/// crossing further, even if it is not an answer to the one that had come furthest.
final class CauseChains: Sendable {
    private struct State {
        /// Crossings, by the hash of a first cause, which this process alone knows how to make.
        ///
        /// The hash of an identity leaves its origin out: here and there a first cause has another node in front.
        var recent: [Int: Int] = [:]
        var older: [Int: Int] = [:]
    }

    /// How many first causes are remembered at least; twice as many at most.
    static let rememberedCauses = 4_096

    private let state = Mutex(State())

    /// Remembers an event that comes from another node, before a handler can see it.
    func bring(_ headers: EventHeaders) {
        guard let first = EventID(headers.root ?? headers.cause ?? headers.id) else { return }
        let cause = first.hashValue
        state.withLock { state in
            let crossings = max(state.recent[cause] ?? state.older[cause] ?? 0, headers.crossings)
            if state.recent[cause] == nil, state.recent.count >= Self.rememberedCauses {
                (state.older, state.recent) = (state.recent, [:])
            }
            state.recent[cause] = crossings
        }
    }

    /// The crossings of an event that is to leave this node, with this one, by the first cause of its chain.
    func crossings(of event: EventID, first cause: EventID) -> Int {
        guard cause != event else { return 1 }
        let key = cause.hashValue
        return 1 + state.withLock { $0.recent[key] ?? $0.older[key] ?? 0 }
    }
}
