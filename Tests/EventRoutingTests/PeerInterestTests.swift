import BridgeTransport
import Testing

@testable import EventRouting

@Suite("The wishes that are known of a peer's processes", .timeLimit(.minutes(1)))
struct PeerInterestTests {
    private let bench: RoutingBench

    init() throws {
        bench = try RoutingBench()
    }

    private func record(_ name: String) -> LinkInterest { LinkInterest(bench.peer(name).link) }

    private func names(in interest: PeerInterest) -> [String] { interest.all.map(\.link.peerName) }

    @Test("keep the old process while its successor takes over, and not longer")
    func succession() {
        var interest = PeerInterest()
        interest.begins(record("old"), ofSuccessor: false)
        interest.begins(record("next"), ofSuccessor: true)
        #expect(names(in: interest) == ["old", "next"])
        let isCutOver = interest.cutOver()
        #expect(isCutOver && names(in: interest) == ["next", "old"])
        interest.forgetFormer()
        #expect(names(in: interest) == ["next"])
    }

    @Test("do not keep the old process if its successor ended before its turn, and another start came")
    func failedHandOver() {
        var interest = PeerInterest()
        interest.begins(record("old"), ofSuccessor: false)
        interest.begins(record("next"), ofSuccessor: true)
        let isCutOver = interest.cutOver()
        #expect(isCutOver)
        interest.forgetNext()
        // The old process may still publish.
        #expect(names(in: interest) == ["next", "old"])
        interest.begins(record("restarted"), ofSuccessor: false)
        #expect(names(in: interest) == ["restarted"])
    }
}
