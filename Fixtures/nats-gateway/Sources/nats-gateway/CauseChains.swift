import DomainEvents
import NATSGateway
import Synchronization

/// Counts how many times events with the same first cause have crossed from one node to another, one after the other.
///
/// A handler may publish a new event for each event that it gets from another node, and a handler there may do the
/// same. No event of such a circle has been anywhere before, but all have the same first cause. So the gateway
/// remembers, for each first cause, the highest count of crossings among the events that it brought. An event with that
/// first cause counts one crossing more, even if it does not answer the event with that count.
final class CauseChains: Sendable {
    private struct State {
        /// Crossings, by the hash of a first cause; no other process can compute these hashes.
        ///
        /// The hash of an identity leaves its origin out, because that differs from node to node.
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

    /// The crossings of an event that is about to leave this node, this crossing included.
    func crossings(of event: EventID, first cause: EventID) -> Int {
        guard cause != event else { return 1 }
        let key = cause.hashValue
        return 1 + state.withLock { $0.recent[key] ?? $0.older[key] ?? 0 }
    }
}
