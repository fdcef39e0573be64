import BridgeProtocol
import Testing

@Suite("By which numbers the peer knows the names of events")
struct PeerNamesTests {
    private func interest(_ wanted: [UInt64: String], unwanted: [UInt64] = []) -> Interest {
        Interest(
            wanted: wanted.sorted { $0.key < $1.key }.map { .init(number: $0.key, name: $0.value) },
            unwanted: unwanted
        )
    }

    @Test("a name is found by its text and by this side's number, until the peer wants it no more")
    func numbers() throws {
        var names = PeerNames(limits: LinkLimits())
        #expect(names.number(of: "Box", known: 0) == nil && names.number(of: "Box", known: 5) == nil)
        try names.apply(interest([9: "Box"]))
        for _ in 0..<2 {
            #expect(names.number(of: "Box", known: 5) == 9)
            #expect(names.number(of: "Box", known: 0) == 9 && names.number(of: "Box") == 9)
        }
        try names.apply(interest([:], unwanted: [9]))
        #expect(names.number(of: "Box", known: 5) == nil && names.number(of: "Box") == nil)
        // Events with this number may be under way.
        #expect(names.name(of: 9) == "Box")
        try names.apply(interest([9: "Box"]))
        #expect(names.number(of: "Box", known: 5) == 9)
    }

    @Test("names whose numbers share a place are not mixed up")
    func places() throws {
        var names = PeerNames(limits: LinkLimits())
        try names.apply(interest([1: "A", 2: "B"]))
        for _ in 0..<3 {
            #expect(names.number(of: "A", known: 3) == 1)
            #expect(names.number(of: "B", known: 3 + 64) == 2)
        }
    }

    @Test("what the peer may not say of its wishes leaves no number that is remembered")
    func violation() throws {
        var names = PeerNames(limits: LinkLimits())
        try names.apply(interest([1: "A"]))
        #expect(names.number(of: "A", known: 3) == 1)
        #expect(throws: LinkViolation.self) { try names.apply(interest([2: "A"])) }
        #expect(names.number(of: "A", known: 3) == 1)
    }
}
