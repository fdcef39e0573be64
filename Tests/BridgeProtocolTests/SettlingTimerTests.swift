import BridgeProtocol
import DomainEvents
import Testing

@Suite("How long a receiver takes to settle events")
struct SettlingTimerTests {
    /// The acknowledgement, checked as by an outbox that has handed out nine events.
    private func checked(_ acknowledgement: Acknowledgement) throws -> CheckedAcknowledgement {
        try CheckedAcknowledgement(acknowledgement, lastComposed: 9)
    }

    @Test("one event at a time is timed; the next one that leaves after it was settled is the next")
    func oneAtATime() throws {
        var timer = SettlingTimer()
        timer.began(1, at: 1_000_000)
        timer.began(2, at: 2_000_000)
        #expect(!timer.isIdle)
        timer.acknowledged(try checked(Acknowledgement(mark: 2)), at: 6_000_000)
        #expect(timer.isIdle)
        #expect(timer.histogram.count == 1)
        #expect(timer.histogram.longest == .milliseconds(5))
        timer.began(3, at: 7_000_000)
        timer.acknowledged(try checked(Acknowledgement(mark: 3)), at: 9_000_000)
        #expect(timer.histogram.count == 2)
        #expect(timer.histogram.sum == .milliseconds(7))
    }

    @Test("an acknowledgement ends it that covers the event, by its mark or by a range, and no other does")
    func covered() throws {
        var timer = SettlingTimer()
        timer.began(5, at: 0)
        timer.acknowledged(try checked(Acknowledgement(mark: 4, ranges: [6...9])), at: 1_000_000)
        #expect(timer.histogram.count == 0)
        timer.acknowledged(try checked(Acknowledgement(mark: 2, ranges: [4...5, 7...9])), at: 2_000_000)
        #expect(timer.histogram.longest == .milliseconds(2))
        timer.acknowledged(try checked(Acknowledgement(mark: 9)), at: 3_000_000)
        #expect(timer.histogram.count == 1)
    }

    @Test("a refusal ends it too, if it is of this event")
    func refused() {
        var timer = SettlingTimer()
        timer.refused(0, at: 5)
        #expect(timer.histogram.count == 0)
        timer.began(5, at: 0)
        timer.refused(4, at: 1_000_000)
        #expect(!timer.isIdle)
        timer.refused(5, at: 2_000_000)
        #expect(timer.isIdle)
        #expect(timer.histogram.longest == .milliseconds(2))
    }

    @Test("a clock that stands still gives a time of zero")
    func still() throws {
        var timer = SettlingTimer()
        timer.began(1, at: 50)
        timer.acknowledged(try checked(Acknowledgement(mark: 1)), at: 40)
        #expect(timer.histogram.count == 1)
        #expect(timer.histogram.longest == .zero)
    }
}
