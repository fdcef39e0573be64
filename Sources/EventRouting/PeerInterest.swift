import BridgeTransport

/// The wishes that were exchanged over a peer's links: one record for each process that the peer may have.
///
/// Guarded by the router's lock.
struct PeerInterest {
    /// The record of the present process, or of the last one.
    private(set) var present: LinkInterest?
    /// The record of the process that will take the present one's place.
    private var next: LinkInterest?
    /// The record of the process before the present one; it may still publish.
    private var former: LinkInterest?

    /// Notes the record of a link whose peer was told for the first time.
    mutating func begins(_ told: LinkInterest, ofSuccessor isSuccessor: Bool) {
        if isSuccessor { next = told } else { present = told }
    }

    /// From now on the wishes of the process that will take the present one's place count.
    ///
    /// - Returns: Whether there is such a process.
    mutating func cutOver() -> Bool {
        guard let next else { return false }
        (former, present, self.next) = (present, next, nil)
        return true
    }

    /// Called when the process before the present one has ended.
    mutating func forgetFormer() { former = nil }

    /// Called when the process that was to take the present one's place has ended.
    mutating func forgetNext() { next = nil }

    /// The record of this link, if its wishes count or will count.
    func told(over link: Link) -> LinkInterest? {
        if present?.link === link { return present }
        return next?.link === link ? next : nil
    }

    /// All records whose links are told of changes.
    var all: [LinkInterest] { [present, next, former].compactMap { $0 } }
}
