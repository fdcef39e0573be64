import Dispatch
import Synchronization

/// Finds out whether this gateway may serve its node: two gateways at once would make each other end, in turn.
///
/// A serving gateway answers at its node's subject with its owner's name. A later gateway of the same owner is its
/// replacement, and waits for its end. A later gateway of another owner ends, but only if the first still answers after
/// 5 seconds: a supervisor that was killed and started again may meet the old gateway for a second.
final class Presence: Sendable {
    enum Finding: Equatable {
        /// This gateway serves the node.
        case served
        /// Another gateway still answers, or the answer may be lost; the sentence comes once.
        case waits(String?)
        /// This gateway must end; the text says why.
        case fenced(String)
    }

    private struct State {
        var isPresent = false
        var isConnected = false
        var isSettled = false
        var encounter = Encounter()
    }

    /// The time between two looks, in seconds.
    static let pause = 0.1

    private let node: Node
    private let owner: String
    private let connection: NATSConnection
    private let settled: @Sendable () -> Void
    private let state = Mutex(State())

    init(of node: Node, owner: String, over connection: NATSConnection, settled: @escaping @Sendable () -> Void) {
        self.node = node
        self.owner = owner
        self.connection = connection
        self.settled = settled
    }

    var isConnected: Bool {
        get { state.withLock(\.isConnected) }
        set { state.withLock { $0.isConnected = newValue } }
    }

    /// Forgets the gateways that have answered; returns whether one of them is the one that this gateway replaces.
    func endsEncounter() -> Bool {
        state.withLock { state in
            defer { state.encounter = Encounter() }
            return state.encounter.isReplacement
        }
    }

    /// Looks whether another gateway answers, which may take the answer time; only on one thread at a time.
    func look() -> Finding {
        if state.withLock(\.isPresent) { return .served }
        let answer = connection.answer(to: node.presence)
        // The question or its answer may be lost: another look follows.
        if case .unknown = answer { return .waits(nil) }
        if case .payload(let answer) = answer {
            let isSameOwner = answer == Array(owner.utf8)
            if isSameOwner { settle() }
            let now = DispatchTime.now().uptimeNanoseconds
            return state.withLock { $0.encounter.meet(at: node, isSameOwner: isSameOwner, now) }
        }
        do {
            try connection.subscribe(to: node.presence) { [connection, owner] message in
                let reply = message.reply
                if !reply.isEmpty { try? connection.publish(to: reply, text: owner) }
            }
        } catch {
            return .fenced("\(error)")
        }
        state.withLock { $0.isPresent = true }
        settle()
        return .served
    }

    private func settle() {
        let isFirst = state.withLock { state in
            defer { state.isSettled = true }
            return !state.isSettled
        }
        if isFirst { settled() }
    }
}
