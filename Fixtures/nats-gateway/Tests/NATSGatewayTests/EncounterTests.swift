import Testing

@testable import NATSGateway

@Suite struct EncounterTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func gatewayOfTheSameOwnerIsReplacedHoweverLongItTakes() throws {
        var encounter = Encounter()
        let berlin = try node("berlin")
        let first = encounter.meet(at: berlin, isSameOwner: true, 7 * Self.second)
        #expect(first == .waits("waits for the end of the gateway before this one"))
        #expect(encounter.meet(at: berlin, isSameOwner: true, 1_000 * Self.second) == .waits(nil))
        #expect(encounter.isReplacement)
    }

    /// The next host's gateway meets the gateway of a killed host, and must go by the bookmark of its own host.
    ///
    /// The killed host's gateway goes on for a moment. It takes events and tells the broker that they are handled, but
    /// no host has them any more, and the bookmark lies before them.
    @Test func gatewayOfAnotherOwnerIsNotReplaced() throws {
        var encounter = Encounter()
        let berlin = try node("berlin")
        let first = encounter.meet(at: berlin, isSameOwner: false, 7 * Self.second)
        #expect(first == .waits("another gateway serves the node berlin: waits for its end for 5 s"))
        #expect(encounter.meet(at: berlin, isSameOwner: false, 12 * Self.second - 1) == .waits(nil))
        #expect(!encounter.isReplacement)
        let last = encounter.meet(at: berlin, isSameOwner: false, 12 * Self.second)
        #expect(last == .fenced("another gateway serves the node berlin"))
    }
}
