import Testing

@testable import BridgeProtocol

@Suite("How long the events of a flood gather")
struct GatheringTimeTests {
    @Test("not at all for what comes alone, or in a burst that is over")
    func alone() {
        #expect(GatheringTime.gathering(after: 0, brought: 1, isRepeated: false) == nil)
        #expect(GatheringTime.gathering(after: 0, brought: 0, isRepeated: true) == nil)
        #expect(GatheringTime.gathering(after: 400_000, brought: 0, isRepeated: true) == nil)
    }

    @Test("shortly where many come, longer where each costs many writes")
    func beginning() {
        #expect(GatheringTime.gathering(after: 0, brought: 16, isRepeated: false) == 50_000)
        #expect(GatheringTime.gathering(after: 0, brought: 1, isRepeated: true) == 400_000)
    }

    @Test("longer and longer while too few come, and shorter again when there are plenty")
    func adapting() {
        var time: UInt64 = 50_000
        var times: [UInt64] = []
        for events: UInt64 in [1, 15, 2, 2, 16, 64, 65, 1_000, 1_000, 1_000] {
            time = GatheringTime.gathering(after: time, brought: events, isRepeated: true) ?? 0
            times.append(time)
        }
        #expect(
            times == [100_000, 200_000, 400_000, 400_000, 400_000, 400_000, 200_000, 100_000, 50_000, 50_000]
        )
    }
}
