import BridgeControl
import CBOR
import DomainEvents
import Testing

@testable import BridgeProtocol
@testable import EventRouting
@testable import supervisor

@Suite("Which events pass, as it is printed")
struct EventsTextTests {
    private func take(_ tally: EventTally, _ name: String, from origin: String, _ payload: [UInt8]) {
        let context = EventPublisher(origin: origin).makeContext(causedBy: nil)
        payload.withUnsafeBytes {
            tally.take(PassingEvent(name: name, context: context, payload: $0, sender: "host"))
        }
    }

    private func rows(_ tally: EventTally) -> [EventsText.Row] {
        let workers = [
            WorkerReport(name: "render.1", pool: "render", state: "ready"), WorkerReport(name: "store", state: "ready"),
        ]
        let report = BridgeReport(pid: 1, library: "", protocolVersion: 1, uptimeMilliseconds: 0, workers: workers)
        let known = [
            EventNameReport(name: "Ask", wantedBy: ["render", "store"], publishedBy: ["store"]),
            EventNameReport(name: "WorkerReady", wantedBy: ["host"]),
            EventNameReport(name: "Quiet", wantedBy: ["host"]),
        ]
        return EventsText.rows(known, tally.counted, report, seconds: 2)
    }

    @Test("a row has what the books say and what was counted, a pool in the place of its members")
    func merged() {
        let tally = EventTally()
        take(tally, "Ask", from: "host", [0xA0])
        take(tally, "Ask", from: "render.1", [0xA2, 0x61, 0x61, 0x01, 0x61, 0x62, 0x02])
        take(tally, "Yes", from: "client-1", [0x01])
        take(tally, "WorkerExited", from: "host", [0xA0])
        let found = rows(tally)
        #expect(found.map(\.event) == ["Ask", "Quiet", "Yes"])
        #expect(found[0].publishedBy == ["input", "render", "store"] && found[0].wantedBy == ["render", "store"])
        #expect(found[0].count == 2 && found[0].perSecond == 1 && found[0].bytes == 8 && found[0].fields == ["a", "b"])
        #expect(found[2].publishedBy == ["client-1"] && found[2].fields.isEmpty)
        #expect(
            EventsText.table(found, seconds: 2) == """
                EVENT  PUBLISHED BY          WANTED BY      COUNT  PER SECOND  BYTES  FIELDS
                Ask    input, render, store  render, store      2           1    8 B  a, b
                Quiet  -                     host               0           0    0 B
                Yes    client-1              -                  1         0.5    1 B
                """
        )
        #expect(EventsText.table([], seconds: 1) == "no events")
        #expect(
            EventsText.json([found[2]]).hasPrefix(
                #"{"event":"Yes","publishedBy":["client-1"],"wantedBy":[],"count":1,"#
            )
        )
    }

    @Test("names and publishers are bounded, and so is what a supervisor may say that it has dropped")
    func bounds() {
        let tally = EventTally()
        for number in 0...EventTally.mostNames {
            take(tally, "N\(number)", from: "a", [UInt8](repeating: 0, count: 5_000))
        }
        #expect(tally.counted.count == EventTally.mostNames && tally.left == 1)
        #expect(tally.counted.values.allSatisfy { $0.fields.isEmpty && $0.bytes == 5_000 })
        for number in 0...EventTally.mostPublishers { take(tally, "N0", from: "p\(number)", [0xA0]) }
        #expect(tally.counted[EventName("N0")]?.publishers.count == EventTally.mostPublishers)
        let id = EventPublisher(origin: "a").makeContext(causedBy: nil).id
        tally.take(Gap(id, name: "N1", reason: .full))
        #expect(tally.missed == 1 && tally.counted[EventName("N1")]?.count == 2)
        // A supervisor's own reports are not counted, so none of them is missing.
        tally.take(Gap(id, name: "WorkerExited", reason: .full))
        #expect(tally.missed == 1)
    }
}
