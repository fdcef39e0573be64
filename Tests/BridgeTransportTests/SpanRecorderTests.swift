import BridgePlatform
import BridgeTransport
import DomainEvents
import Testing

@Suite("Spans are noted in a bounded buffer")
struct SpanRecorderTests {
    private func context(_ number: UInt64) -> EventContext {
        EventContext(id: EventID(origin: "host", incarnation: 1, number: number), nanosecondsSinceEpoch: 0)
    }

    @Test("what has no room is counted, and the count is told once")
    func bounded() {
        let recorder = SpanRecorder()
        recorder.turn(on: true)
        let start = MonotonicClock.now()
        for number in 1...UInt64(SpanRecorder.capacity + 3) {
            recorder.note(.publish, of: "E", context(number), from: start)
        }
        recorder.drop(4)
        let notes = recorder.take()
        #expect(notes.spans.count == SpanRecorder.capacity)
        #expect(notes.dropped == 7)
        #expect(notes.spans.last?.id.number == UInt64(SpanRecorder.capacity))
        #expect(notes.threads == [CurrentThread.identifier: CurrentThread.name])
        let next = recorder.take()
        #expect(next.spans.isEmpty && next.threads.isEmpty && next.dropped == 0)
    }

    @Test("a span ends now, and not before it began; who waits has no thread")
    func times() throws {
        let recorder = SpanRecorder()
        #expect(!recorder.isOn)
        recorder.turn(on: true)
        #expect(recorder.isOn)
        let start = MonotonicClock.now()
        recorder.note(.handling, of: "E", context(1), from: start, isOwn: false, peer: "a")
        recorder.note(.handling, of: "E", context(2), from: .max - 5)
        let spans = recorder.take().spans
        let (first, second) = (try #require(spans.first), try #require(spans.last))
        #expect(first.start == start && first.end >= start && first.end <= MonotonicClock.now())
        #expect(first.thread == nil && first.peer == "a")
        #expect(second.end == second.start && second.thread == CurrentThread.identifier)
    }

    @Test("what was noted is forgotten when it is turned on or off")
    func turned() {
        let recorder = SpanRecorder()
        recorder.turn(on: true)
        recorder.note(.publish, of: "E", context(1), from: 0)
        recorder.drop(1)
        recorder.turn(on: false)
        let notes = recorder.take()
        #expect(notes.spans.isEmpty && notes.dropped == 0)
    }
}
