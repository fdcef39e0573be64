import Testing

@testable import bridge_benchmark

@Suite("The arrival of a flood")
struct FloodTests {
    @Test("It has ended when every lane has, whatever their order among each other")
    func lanes() {
        let flood = Flood(count: 8, lanes: 4)
        #expect(flood.count == 8)
        var ended: [Bool] = []
        for id: Int64 in [3, 7, 0, 1, 4, 2, 5, 6] { ended.append(flood.arrived(id)) }
        #expect(ended == [false, false, false, false, false, false, false, true])
        #expect(flood.nanoseconds < UInt64.max)
    }

    @Test("A count is rounded down to what all lanes can share")
    func rounded() {
        #expect(Flood(count: 11, lanes: 4).count == 8)
        #expect(Flood(count: 1, lanes: 4).count == 4)
    }

    @Test("Event types by the thousand have names of their own")
    func knownTypes() {
        let names = Set((0..<5_000).map(KnownTypes.name))
        #expect(names.count == 5_000)
        #expect(names.contains("KnownEvent4321"))
    }
}
