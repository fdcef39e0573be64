import BridgeTransport
import DomainEvents

/// The wishes that were exchanged over one link: the names that its peer has asked for, and the names that the peer was
/// asked for.
///
/// Guarded by the router's lock.
final class LinkInterest {
    let link: Link
    /// The names that the peer has asked for, those of its specification among them.
    var asked: Set<EventName> = []
    /// The numbers of the names that the peer was asked for.
    var announced: Set<UInt64> = []

    init(_ link: Link) {
        self.link = link
    }
}
