/// The versions of the wire protocol that this library speaks.
package enum ProtocolVersion {
    /// The version described in docs/reference/wire-protocol.md.
    package static let current: UInt64 = 1

    package static let supported: ClosedRange<UInt64> = 1...1

    /// The highest version that both sides speak; nil if they have none in common.
    package static func common(_ peer: ClosedRange<UInt64>) -> UInt64? {
        let highest = min(peer.upperBound, supported.upperBound)
        return highest >= max(peer.lowerBound, supported.lowerBound) ? highest : nil
    }
}
