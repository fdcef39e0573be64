import BridgeTransport

/// What was said over a peer's links of what is wanted: of each process that there may be.
///
/// Guarded by the router's lock.
struct RouteInterest {
    /// Over the link of the present process, or the last one.
    private(set) var present: LinkInterest?
    /// Over that of a process that is to take its place.
    private var next: LinkInterest?
    /// Over that of the one before it, which may still publish.
    private var former: LinkInterest?

    /// A link was told for the first time.
    mutating func begins(_ told: LinkInterest, ofSuccessor isSuccessor: Bool) {
        if isSuccessor { next = told } else { present = told }
    }

    /// The wishes of the process count from now on that is to take the present one's place.
    ///
    /// - Returns: Whether there is one.
    mutating func takeOver() -> Bool {
        guard let next else { return false }
        (former, present, self.next) = (present, next, nil)
        return true
    }

    /// The process before the present one has ended.
    mutating func forgetFormer() { former = nil }

    /// The process that was to take the present one's place has ended.
    mutating func forgetNext() { next = nil }

    /// What was said over this link, if it is the one whose wishes count, or will.
    func told(over link: Link) -> LinkInterest? {
        if present?.link === link { return present }
        return next?.link === link ? next : nil
    }

    /// All that are told of changes.
    var all: [LinkInterest] { [present, next, former].compactMap { $0 } }
}
