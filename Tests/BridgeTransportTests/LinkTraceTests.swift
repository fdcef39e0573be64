import BridgeProtocol
import DomainEvents
import Testing

@testable import BridgeTransport

@Suite("How long events lie in an outbox and are on the wire", .timeLimit(.minutes(1)))
struct LinkTraceTests {
    private let recorder = SpanRecorder()
    private let source = EventSource(origin: "host", incarnation: 1)

    private func context(_ number: UInt64) -> EventContext {
        EventContext(id: EventID(source: source, number: number), nanosecondsSinceEpoch: 0)
    }

    private func makeTrace() -> LinkTrace {
        recorder.turn(on: true)
        return LinkTrace(recorder: recorder, peer: "a")
    }

    /// What was noted, as `stage number start-end`.
    private func noted() -> [String] {
        recorder.take().spans.map { "\($0.stage) \($0.id.number) \($0.start)-\($0.end)" }
    }

    @Test("an event's time in the outbox ends when it leaves, its time on the wire with its acknowledgement")
    func steps() throws {
        var trace = makeTrace()
        for sequence in UInt64(1)...4 {
            trace.appended(sequence, "E", context(sequence), attempt: 1, at: sequence * 10)
        }
        #expect(noted().isEmpty)
        trace.left(through: 3, at: 100)
        #expect(noted() == ["outbox 1 10-100", "outbox 2 20-100", "outbox 3 30-100"])
        trace.acknowledged(try checked(Acknowledgement(mark: 1, ranges: [3...3])), at: 200)
        #expect(noted() == ["wire 1 100-200", "wire 3 100-200"])
        trace.left(through: 4, at: 210)
        trace.refused(2, at: 220)
        trace.acknowledged(try checked(Acknowledgement(mark: 4)), at: 230)
        #expect(noted() == ["outbox 4 40-210", "wire 2 100-220", "wire 4 210-230"])
        trace.appended(5, "E", context(5), attempt: 1, at: 300)
        trace.left(through: 5, at: 310)
        trace.acknowledged(try checked(Acknowledgement(mark: 5)), at: 320)
        #expect(noted() == ["outbox 5 300-310", "wire 5 310-320"])
    }

    /// The acknowledgement, checked as by an outbox that has handed out ten events.
    private func checked(_ acknowledgement: Acknowledgement) throws -> CheckedAcknowledgement {
        try CheckedAcknowledgement(acknowledgement, lastComposed: 10)
    }

    @Test("a range that names far more events than are timed costs no search for each, however often it comes")
    func wideRange() throws {
        var trace = makeTrace()
        for sequence in UInt64(1)...5 { trace.appended(sequence, "E", context(sequence), attempt: 1, at: 0) }
        trace.left(through: 1 << 40, at: 1)
        #expect(noted().count == 5)
        let range = UntrustedNumber(3)...UntrustedNumber(1 << 40)
        let wide = try CheckedAcknowledgement(Acknowledgement(mark: 0, ranges: [range]), lastComposed: 1 << 40)
        trace.acknowledged(wide, at: 2)
        #expect(noted() == ["wire 3 1-2", "wire 4 1-2", "wire 5 1-2"])
        for _ in 0..<1_000 { trace.acknowledged(wide, at: 3) }
        #expect(noted().isEmpty)
    }

    @Test("an event that waited for the outbox has waited from then on; one that was dropped there is forgotten")
    func queued() {
        var trace = makeTrace()
        trace.waits(context(1).id, at: 5)
        trace.waits(context(2).id, at: 6)
        trace.wasDropped(context(1).id)
        trace.appended(1, "E", context(2), attempt: 1, at: 50)
        trace.appended(2, "E", context(1), attempt: 1, at: 60)
        trace.left(through: 2, at: 70)
        #expect(noted() == ["outbox 2 6-70", "outbox 1 60-70"])
    }

    @Test("events from before the trace are not noted, and their acknowledgement counts for no later event")
    func begunLate() throws {
        var trace = makeTrace()
        trace.left(through: 7, at: 10)
        trace.acknowledged(try checked(Acknowledgement(mark: 5, ranges: [7...7])), at: 20)
        trace.appended(8, "E", context(8), attempt: 2, at: 30)
        trace.acknowledged(try checked(Acknowledgement(mark: 7)), at: 40)
        #expect(noted().isEmpty)
        trace.left(through: 8, at: 50)
        trace.acknowledged(try checked(Acknowledgement(mark: 8)), at: 60)
        #expect(noted() == ["outbox 8 30-50", "wire 8 50-60"])
    }

    @Test("beyond its bound the trace notes nothing, and says so")
    func bounded() {
        var trace = makeTrace()
        for sequence in UInt64(1)...4_100 { trace.appended(sequence, "E", context(sequence), attempt: 1, at: 1) }
        #expect(recorder.take().dropped == 8)
    }
}

extension LinkTrace {
    fileprivate mutating func waits(_ id: EventID, at now: UInt64) { note([.waits(id)], at: now) }

    fileprivate mutating func wasDropped(_ id: EventID) { note([.dropped(id)], at: 0) }

    fileprivate mutating func appended(
        _ sequence: UInt64,
        _ name: String,
        _ context: EventContext,
        attempt: Int,
        at now: UInt64
    ) {
        note([.appended(sequence: sequence, name: name, context, attempt: attempt)], at: now)
    }
}
