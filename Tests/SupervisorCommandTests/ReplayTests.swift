import BridgeControl
import DomainEvents
import Journal
import Testing

@testable import supervisor

@Suite("The pace and the tally of a replay")
struct ReplayTests {
    private static let second: UInt64 = 1_000_000_000

    @Test("a pace is a number with an x, neither none nor endless")
    func reads() {
        #expect(ReplayPace("2x") == .asItWas(times: 2))
        #expect(ReplayPace("0.5x") == .asItWas(times: 0.5))
        for text in ["", "x", "2", "0x", "-1x", "nanx", "infx", "1e300x", "2 x"] { #expect(ReplayPace(text) == nil) }
    }

    @Test("pauses are divided, and a clock that was set back makes none; no time overflows")
    func delays() {
        let pace = ReplayPace.asItWas(times: 4)
        #expect(pace.delay(of: 9 * Self.second, after: 5 * Self.second) == Self.second)
        #expect(pace.delay(of: 4 * Self.second, after: 5 * Self.second) == 0)
        #expect(ReplayPace.asItWas(times: 0.001).delay(of: .max, after: 0) <= UInt64(Int64.max))
        #expect(ReplayPace.asFastAsPossible.delay(of: .max, after: 0) == 0)
    }

    private func record(_ position: UInt64) -> JournalRecord {
        let context = EventContext(
            id: EventID(origin: "host", incarnation: 0x5F, number: position),
            nanosecondsSinceEpoch: position
        )
        return JournalRecord(position: position, name: "Shelved", context: context, payload: [0xA0])
    }

    @Test("a tally says what was handled, what the worker refuses or does not want, and where another replay goes on")
    func tally() {
        var tally = ReplayTally()
        #expect(tally.status == .success && tally.progress == "no event is known to be settled")
        tally.add(record(3), ReplayOutcome.Result(.unwanted))
        #expect(tally.status == .workerUnavailable)
        tally.add(record(4), ReplayOutcome.Result(.handled))
        #expect(tally.status == .success)
        tally.add(JournalGap(positions: 5..<7, reason: .removed))
        #expect(tally.status == .badInput)
        tally.add(record(7), ReplayOutcome.Result(.refused, reason: "no"))
        tally.add(record(8), ReplayOutcome.Result(.unavailable, reason: "gone"))
        #expect(tally.status == .unhandledEvents)
        #expect(tally.progress == "everything up to position 7 is settled, and --after 7 goes on behind it")
        #expect(
            ReplayText.summary(tally, worker: "a", isJSON: false)
                == "a has handled 1 event again; 1 event was refused; 1 event it does not want: Shelved; "
                + "events are missing at 1 place"
        )
        #expect(
            ReplayText.summary(tally, worker: "a", isJSON: true)
                == #"{"handled":1,"refused":1,"unwanted":1,"missing":2,"last":7}"#
        )
        #expect(ReplayText.refused(record(7), "no", isJSON: false) == "7  Shelved host-5f-7 was refused: no")
    }
}
