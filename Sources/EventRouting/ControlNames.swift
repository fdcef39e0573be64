import BridgeProtocol
import BridgeTransport
package import DomainEvents

/// Names of events that do not pass between all peers that want them.
///
/// Some pass only between the host and the peers that have attached to it; workers neither send nor get them. Others
/// never leave their process.
package struct ControlNames: Sendable {
    /// Names of events from attached peers to the host; the host does not pass them on.
    let commands: Set<EventName>
    /// Names of events from the host to the peer that asked.
    let answers: Set<EventName>

    /// Names of events that stay in their process: no event of such a name is sent to a peer or asked of one.
    let local: Set<EventName>

    /// Makes the value; if all sets are empty, every event may pass.
    package init(commands: Set<EventName> = [], answers: Set<EventName> = [], local: Set<EventName> = []) {
        self.commands = commands
        self.answers = answers
        self.local = local
    }

    func scope(of name: EventName) -> Scope {
        if commands.contains(name) { return .command }
        if local.contains(name) { return .local }
        return answers.contains(name) ? .answer : .open
    }

    /// The processes between which the events of a name pass.
    enum Scope: Sendable, Hashable {
        /// The events pass between all processes that want them.
        case open
        case command
        case answer
        case local

        /// Why a peer must not send events of this scope; nil if the peer may send them.
        func refusal(of name: String, from peer: Peer) -> String? {
            switch self {
            case .open: return nil
            case .local: return "\(name) stays within the process that publishes it"
            case .command where peer.isAttached: return nil
            case .command:
                return "worker \"\(peer.peerName)\" may not publish \(name): only attached clients give commands"
            case .answer:
                let who = peer.isAttached ? peer.peerName : "worker \"\(peer.peerName)\""
                return "\(who) may not publish \(name): only the host answers"
            }
        }

        /// Whether a peer that wants events of this scope may get them.
        func reaches(_ peer: Peer) -> Bool {
            switch self {
            case .open: true
            case .command, .local: false
            case .answer: peer.isAttached
            }
        }

        /// The peers among `attached` that asked the question which the event with this context answers.
        func requesters(_ context: EventContext, among attached: [Peer]) -> [Peer] {
            attached.filter { $0.peerName == context.root.origin }
        }
    }
}
