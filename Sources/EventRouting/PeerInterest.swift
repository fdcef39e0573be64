import BridgeTransport

/// The wishes that were exchanged over a peer's links: one record for each process that the peer may have.
///
/// Guarded by the router's lock.
struct PeerInterest {
    /// The record of the present process, or of the last one.
    private(set) var present: LinkInterest?
    /// The record of the successor, the process that will take the present one's place.
    private var next: LinkInterest?
    /// The record of the process before the present one; that process may still publish.
    private var former: LinkInterest?

    /// Notes the record of a link whose peer is told for the first time which names are wanted of it.
    ///
    /// A process that is no successor starts when no other process is left, so the former process's record goes, too.
    /// That record is still there if a successor, after ``cutOver()``, has ended before the former process.
    mutating func begins(_ told: LinkInterest, ofSuccessor isSuccessor: Bool) {
        if isSuccessor { next = told } else { (present, former) = (told, nil) }
    }

    /// Lets the wishes of the successor count from now on.
    ///
    /// - Returns: Whether there is a successor.
    mutating func cutOver() -> Bool {
        guard let next else { return false }
        (former, present, self.next) = (present, next, nil)
        return true
    }

    /// Called when the process before the present one has ended.
    mutating func forgetFormer() { former = nil }

    /// Called when the successor has ended before it took the present process's place.
    mutating func forgetNext() { next = nil }

    /// The record of this link; nil if wishes over the link count neither now nor later.
    func told(over link: Link) -> LinkInterest? {
        if present?.link === link { return present }
        return next?.link === link ? next : nil
    }

    /// All records whose links are told of changes.
    var all: [LinkInterest] { [present, next, former].compactMap { $0 } }
}
