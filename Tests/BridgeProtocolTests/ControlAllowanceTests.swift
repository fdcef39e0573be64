import BridgeProtocol
import Testing

@Suite("How many control messages a peer may send")
struct ControlAllowanceTests {
    private static let second: UInt64 = 1_000_000_000

    private let refusal = LinkViolation(
        "it sends too many control messages that answer no event; the limit is 10 a second, and 40 at once"
    )

    /// How many of very many messages are taken at this moment.
    private func taken(
        _ allowance: inout ControlAllowance,
        _ kind: FrameKind? = .heartbeat,
        events: UInt64 = 0,
        at now: UInt64
    ) -> Int {
        for count in 0..<10_000 {
            do throws(LinkViolation) {
                try allowance.received(kind, events: events, now: now)
            } catch {
                #expect(error == refusal)
                return count
            }
        }
        return 10_000
    }

    @Test("four seconds' worth may come at once, and afterwards as many as the rate says")
    func rate() {
        var allowance = ControlAllowance(perSecond: 10, from: 0)
        #expect(taken(&allowance, at: 0) == 40)
        #expect(taken(&allowance, at: Self.second / 2) == 5)
        #expect(taken(&allowance, at: Self.second / 2 + Self.second / 20) == 0)
        // A fraction of a message from then is not lost.
        #expect(taken(&allowance, at: Self.second / 2 + Self.second / 10) == 1)
        #expect(taken(&allowance, at: 100 * Self.second) == 40)
    }

    @Test("messages of unknown kinds count as well")
    func unknownKinds() {
        var allowance = ControlAllowance(perSecond: 10, from: 0)
        #expect(taken(&allowance, nil, at: 0) == 40)
    }

    @Test(
        "events pay for their answers, three for each, however fast they come",
        arguments: [
            FrameKind.acknowledge, .refuse, .receipt,
        ]
    )
    func answers(kind: FrameKind) throws {
        var allowance = ControlAllowance(perSecond: 10, from: 0)
        for event: UInt64 in 1...100_000 {
            for _ in 0..<3 { try allowance.received(kind, events: event, now: 0) }
        }
        // Beyond that limit they count like other messages.
        #expect(taken(&allowance, kind, events: 100_000, at: 0) == 40)
        #expect(taken(&allowance, kind, events: 100_001, at: 0) == 3)
    }

    @Test("without a rate there is no limit")
    func unlimited() {
        var allowance = ControlAllowance(perSecond: nil, from: 0)
        #expect(taken(&allowance, at: 0) == 10_000)
    }
}
