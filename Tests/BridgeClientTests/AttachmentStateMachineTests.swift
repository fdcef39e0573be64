import Testing

@testable import BridgeClient

@Suite("What a client does about its link")
struct AttachmentStateMachineTests {
    private static let gone = BridgeClientError(.linkEnded, "gone")
    private static let rejected = BridgeClientError(.rejected, "another version")

    private static func attached() -> AttachmentStateMachine {
        var machine = AttachmentStateMachine()
        _ = machine.handle(.attached(hostIncarnation: 1), at: 0, jitter: 0)
        return machine
    }

    @Test("the first attempt ends with what came of it, and is not made again")
    func firstAttempt() {
        var machine = AttachmentStateMachine()
        #expect(machine.handle(.attached(hostIncarnation: 1), at: 0, jitter: 0) == [.finishConnecting(nil)])
        #expect(machine.phase == .attached)
        var other = AttachmentStateMachine()
        #expect(other.handle(.failed(Self.gone), at: 0, jitter: 0) == [.finishConnecting(Self.gone)])
        #expect(other.phase == .ended)
        #expect(other.handle(.attached(hostIncarnation: 1), at: 0, jitter: 0).isEmpty)
    }

    @Test("a lost link is announced once, and tried again after longer and longer pauses")
    func pauses() {
        var machine = Self.attached()
        let first = machine.handle(.failed(Self.gone), at: 7, jitter: 0)
        #expect(first == [.announceLoss(Self.gone, isFinal: false), .tryAgain(after: 50_000_000)])
        #expect(machine.phase == .lost(since: 7))
        let pauses = (0..<8).map { _ in machine.handle(.failed(Self.gone), at: 8, jitter: 0) }
        let expected = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000].map { UInt64($0) * 1_000_000 }
        #expect(pauses == expected.map { [.tryAgain(after: $0)] })
    }

    @Test(
        "a pause is shorter by up to a half",
        arguments: [(0.5, 37_500_000), (1, 25_000_000), (7, 25_000_000), (-1, 50_000_000)]
    )
    func jitter(jitter: Double, pause: UInt64) {
        var machine = Self.attached()
        #expect(machine.handle(.failed(Self.gone), at: 0, jitter: jitter).last == .tryAgain(after: pause))
    }

    @Test(
        "a return says whether it is the same host and for how long there was none, and pauses begin anew",
        arguments: [1, 2] as [UInt64]
    )
    func returned(incarnation: UInt64) {
        var machine = Self.attached()
        for time in 100...105 as ClosedRange<UInt64> { _ = machine.handle(.failed(Self.gone), at: time, jitter: 0) }
        let actions = machine.handle(.attached(hostIncarnation: incarnation), at: 350, jitter: 0)
        #expect(actions == [.announceReturn(isSameHost: incarnation == 1, awayNanoseconds: 250)])
        #expect(machine.handle(.failed(Self.gone), at: 400, jitter: 0).last == .tryAgain(after: 50_000_000))
    }

    @Test("a client that the host does not accept gives up, and says so")
    func rejection() {
        var machine = Self.attached()
        _ = machine.handle(.failed(Self.gone), at: 0, jitter: 0)
        #expect(
            machine.handle(.failed(Self.rejected), at: 1, jitter: 0) == [.announceLoss(Self.rejected, isFinal: true)]
        )
        #expect(machine.phase == .ended)
        var other = Self.attached()
        #expect(other.handle(.failed(Self.rejected), at: 1, jitter: 0) == [.announceLoss(Self.rejected, isFinal: true)])
    }

    @Test("after it was closed nothing more is done")
    func closed() {
        var machine = Self.attached()
        #expect(machine.handle(.closed, at: 0, jitter: 0).isEmpty)
        #expect(machine.handle(.failed(Self.gone), at: 1, jitter: 0).isEmpty)
        #expect(machine.handle(.closed, at: 2, jitter: 0).isEmpty)
        var connecting = AttachmentStateMachine()
        let actions = connecting.handle(.closed, at: 0, jitter: 0)
        #expect(actions == [.finishConnecting(BridgeClientError(.closed, "the client was closed"))])
    }
}
