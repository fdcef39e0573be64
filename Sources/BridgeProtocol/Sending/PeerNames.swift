/// The numbers by which the peer knows the names of events.
package struct PeerNames: Sendable {
    private var interest: InterestTable
    /// A cache: the peer's numbers of names, by this process's own numbers of them; own number 0 marks an empty place.
    private var known = Self.nothingKnown

    /// How many places the cache has.
    private static let places = 64
    private static let nothingKnown = Array(repeating: (own: UInt64(0), peer: UInt64(0)), count: places)

    package init(limits: LinkLimits) { interest = InterestTable(limits: limits) }

    /// The peer has said what it wants from now on.
    package mutating func apply(_ interest: Interest) throws(LinkViolation) {
        known = Self.nothingKnown
        try self.interest.apply(interest)
    }

    /// The peer's number of a name; nil if the peer does not want the name now.
    ///
    /// - Parameter number: this process's number for the name; 0 if it has none.
    package mutating func number(of name: String, known number: UInt64) -> UInt64? {
        if number == 0 { return self.number(of: name) }
        let place = Int(truncatingIfNeeded: number) & (Self.places - 1)
        if known[place].own == number { return known[place].peer }
        guard let peer = self.number(of: name) else { return nil }
        known[place] = (number, peer)
        return peer
    }

    /// The peer's number of a name, looked up without the cache; nil if the peer does not want the name now.
    package func number(of name: String) -> UInt64? { interest.number(of: name) }

    package func name(of number: UInt64) -> String? { interest.name(of: number) }

    /// The name of an event that this side has written; empty if its number stands for no name.
    func text(of name: WireName) -> String {
        switch name {
        case .text(let text): text
        case .number(let number): self.name(of: number) ?? ""
        }
    }
}
