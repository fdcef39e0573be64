import BridgeTransport
import DomainEvents

/// What was said over one link: which names its peer has asked for, and which it was asked for.
///
/// Guarded by the router's lock.
final class LinkInterest {
    let link: Link
    /// What the peer wants beside what its specification says.
    var asked: Set<EventName> = []
    /// Which of our numbers the peer knows as wanted.
    var announced: Set<UInt64> = []

    init(_ link: Link) {
        self.link = link
    }
}
