import BridgePlatform
import DomainEvents
import JSONText
import TestSupport
import Testing

@testable import supervisor

@Suite("A trace as Chrome's trace viewer reads it")
struct ChromeTraceTests {
    private func entries(_ trace: RecordedTrace) throws -> [JSONNode] {
        var bytes: [UInt8] = []
        try ChromeTrace(trace).write { (chunk) throws(SystemFileError) in bytes += chunk }
        let whole = try JSONReader().read(String(decoding: bytes, as: UTF8.self))
        guard case .array(let found)? = whole["traceEvents"]?.value else { return [] }
        return found
    }

    private func all(_ entries: [JSONNode], _ phase: String) -> [JSONNode] {
        entries.filter { text($0["ph"]) == phase }
    }

    /// An event of the host whose handler in a worker publishes another, which the host handles.
    private var sample: RecordedTrace {
        var trace = RecordedTrace()
        trace.add(
            EventsTraced(
                process: "host",
                pid: 10,
                spans: [
                    TracedSpan(
                        event: "Asked",
                        id: "host-1-1",
                        stage: .publish,
                        start: 5_000_000,
                        duration: 9_001,
                        thread: 11
                    ),
                    TracedSpan(
                        event: "Asked",
                        id: "host-1-1",
                        stage: .outbox,
                        start: 5_001_000,
                        duration: 500,
                        peer: "a"
                    ),
                    TracedSpan(
                        event: "Asked",
                        id: "host-1-1",
                        stage: .wire,
                        start: 5_001_500,
                        duration: 60_000,
                        peer: "a"
                    ),
                    TracedSpan(
                        event: "Answered",
                        id: "a-2-1",
                        cause: "host-1-1",
                        stage: .handling,
                        start: 5_050_000,
                        duration: 100,
                        thread: 12,
                        peer: "a"
                    ),
                ],
                threads: [TracedThread(id: 11, name: "main"), TracedThread(id: 12, name: "link a")],
                dropped: 3
            )
        )
        trace.add(
            EventsTraced(
                process: "a",
                pid: 20,
                spans: [
                    TracedSpan(
                        event: "Asked",
                        id: "host-1-1",
                        attempt: 2,
                        stage: .handling,
                        start: 5_010_000,
                        duration: 30_000,
                        thread: 21,
                        peer: "host"
                    ),
                    TracedSpan(
                        event: "Answered",
                        id: "a-2-1",
                        cause: "host-1-1",
                        stage: .publish,
                        start: 5_020_000,
                        duration: 5_000,
                        thread: 21
                    ),
                ],
                threads: [TracedThread(id: 21, name: "link host")],
                dropped: 0
            )
        )
        return trace
    }

    @Test("processes and threads have their names")
    func names() throws {
        let found = all(try entries(sample), "M").filter { text($0["name"]) != "process_sort_index" }
        let lines = found.map { entry in
            "\(text(entry["name"]) ?? "") \(number(entry["pid"]) ?? 0) \(number(entry["tid"]) ?? 0) \(text(entry["args"]?["name"]) ?? "")"
        }
        #expect(
            lines == [
                "process_name 10.0 10.0 host", "process_name 20.0 20.0 a", "thread_name 10.0 11.0 main",
                "thread_name 10.0 12.0 link a", "thread_name 20.0 21.0 link host",
            ]
        )
    }

    @Test("a thread's spans are complete events, in microseconds from the first one's beginning")
    func complete() throws {
        let found = all(try entries(sample), "X")
        let lines = found.map { entry in
            "\(text(entry["name"]) ?? "") \(number(entry["tid"]) ?? 0) \(number(entry["ts"]) ?? -1) \(number(entry["dur"]) ?? -1)"
        }
        #expect(
            lines == [
                "publish Asked 11.0 0.0 9.001", "handling Asked 21.0 10.0 30.0", "publish Answered 21.0 20.0 5.0",
                "handling Answered 12.0 50.0 0.1",
            ]
        )
        let effect = try #require(found.first { text($0["name"]) == "publish Answered" })
        #expect(text(effect["args"]?["cause"]) == "host-1-1")
        #expect(text(found[1]["args"]?["attempt"]) == "2" && text(found[1]["args"]?["from"]) == "host")
    }

    @Test("what waits overlaps with others: it has a beginning and an end, which belong together")
    func waiting() throws {
        let found = try entries(sample)
        let (begins, ends) = (all(found, "b"), all(found, "e"))
        #expect(begins.map { text($0["name"]) } == ["outbox Asked", "wire Asked"])
        #expect(begins.map { text($0["id"]) } == ends.map { text($0["id"]) })
        #expect(begins.compactMap { number($0["ts"]) } == [1, 1.5])
        #expect(ends.compactMap { number($0["ts"]) } == [1.5, 61.5])
        #expect(Set(begins.map { text($0["id"]) }).count == 2)
        #expect(text(begins[0]["args"]?["to"]) == "a")
    }

    @Test("arrows lead from where an event was published to its handling, and from a handling to its effect")
    func flows() throws {
        let found = try entries(sample)
        let starts = all(found, "s")
        let lines = try starts.map { start in
            let finish = try #require(all(found, "f").first { text($0["id"]) == text(start["id"]) })
            #expect(text(finish["bp"]) == "e" && text(finish["name"]) == text(start["name"]))
            return
                "\(text(start["name"]) ?? "") \(number(start["tid"]) ?? 0)@\(number(start["ts"]) ?? -1) \(number(finish["tid"]) ?? 0)@\(number(finish["ts"]) ?? -1)"
        }
        #expect(
            Set(lines) == [
                "way of the event 11.0@0.0 21.0@10.0", "way of the event 21.0@20.0 12.0@50.0",
                "cause 21.0@10.0 21.0@20.0",
            ]
        )
    }

    @Test("where no thread has handled the cause, its effect's arrow comes from where it was published")
    func causeWithoutThread() {
        var trace = RecordedTrace()
        let spans = [
            TracedSpan(event: "A", id: "h-1-1", stage: .publish, start: 1, duration: 1, thread: 1),
            TracedSpan(event: "A", id: "h-1-1", stage: .handling, start: 2, duration: 9),
            TracedSpan(event: "B", id: "h-1-2", cause: "h-1-1", stage: .publish, start: 5, duration: 1, thread: 2),
            // The effect starts before its cause, which a clock of one machine never shows.
            TracedSpan(event: "C", id: "h-1-3", cause: "h-1-2", stage: .publish, start: 4, duration: 1, thread: 2),
        ]
        trace.add(EventsTraced(process: "h", pid: 1, spans: spans, threads: [], dropped: 0))
        #expect(TraceFlow.all(in: trace) == [TraceFlow(kind: .cause, from: 0, to: 2)])
    }

    @Test("names that others have chosen stay text, and an empty trace is one")
    func hostile() throws {
        var trace = RecordedTrace()
        let name = "\"},{\u{1B}[31m\n\u{0}"
        trace.add(
            EventsTraced(
                process: name,
                pid: -1,
                spans: [
                    TracedSpan(event: name, id: name, cause: name, stage: .wire, start: 0, duration: .max, peer: name),
                    TracedSpan(event: name, id: name, stage: .publish, start: .max, duration: 0, thread: .max),
                ],
                threads: [TracedThread(id: .max, name: name)],
                dropped: .max
            )
        )
        trace.add(EventsTraced(process: name, pid: -1, spans: [], threads: [], dropped: 1))
        #expect(trace.dropped == .max && trace.processes.count == 1)
        let found = try entries(trace)
        #expect(text(found.first?["args"]?["name"]) == name)
        #expect(try entries(RecordedTrace()).isEmpty)
    }

    @Test("as many spans are kept as there is room for, and those left out are counted")
    func collected() {
        let collector = TraceCollector(capacity: 3)
        let spans = (1...2).map { TracedSpan(event: "E", id: "\($0)", stage: .wire, start: 0, duration: 0) }
        let event = EventsTraced(process: "a", pid: 1, spans: spans, threads: [], dropped: 5)
        #expect(collector.add(event))
        #expect(!collector.add(event))
        collector.missed(4)
        #expect(collector.recorded.spans.map(\.span.id) == ["1", "2", "1"])
        #expect(collector.recorded.dropped == 11 && collector.recorded.missedBatches == 4)
    }

    @Test("names that are too long for the room end the recording: of events, of threads and of processes")
    func longNames() {
        let (room, long) = (64 << 10, String(repeating: "x", count: 70_000))
        func span(_ event: String, cause: String? = nil, peer: String? = nil) -> TracedSpan {
            TracedSpan(event: event, id: "i", cause: cause, stage: .wire, start: 0, duration: 0, peer: peer)
        }
        func report(_ process: String, _ spans: [TracedSpan], _ threads: [TracedThread] = []) -> EventsTraced {
            EventsTraced(process: process, pid: 1, spans: spans, threads: threads, dropped: 0)
        }
        let fine = span("E")
        let tooLong = [
            report("a", [fine, span(long), fine]), report("a", [fine, span("E", cause: long), fine]),
            report("a", [fine, span("E", peer: long), fine]),
        ]
        for event in tooLong {
            let collector = TraceCollector(bytes: room)
            #expect(collector.add(report("a", [fine])))
            #expect(!collector.add(event))
            #expect(!collector.add(report("a", [fine])))
            #expect(collector.recorded.spans.count == 2 && collector.recorded.dropped == 3)
        }
        for event in [report(long, [fine]), report("a", [fine], [TracedThread(id: 1, name: long)])] {
            let collector = TraceCollector(bytes: room)
            #expect(!collector.add(event))
            #expect(collector.recorded.spans.isEmpty && collector.recorded.threads.isEmpty)
            #expect(collector.recorded.dropped == 1)
        }
    }

    @Test("each process and each thread takes room once, so a process that invents them without end finds none")
    func inventedProcesses() {
        func event(_ pid: Int32, thread: UInt64) -> EventsTraced {
            let threads = [TracedThread(id: thread, name: "t")]
            return EventsTraced(process: "p", pid: pid, spans: [], threads: threads, dropped: 0)
        }
        let same = TraceCollector(bytes: 4_096)
        #expect((1...1_000).allSatisfy { _ in same.add(event(1, thread: 1)) })
        let processes = TraceCollector(bytes: 4_096)
        #expect(!(1...1_000).allSatisfy { processes.add(event($0, thread: 1)) })
        #expect(processes.recorded.processes.count < 16)
        let threads = TraceCollector(bytes: 4_096)
        #expect(!(1...1_000).allSatisfy { threads.add(event(1, thread: $0)) })
        #expect(threads.recorded.threads.count < 16)
    }

    @Test("an event of more spans than any process publishes is refused, and one that ends beyond the end of time")
    func validated() {
        let span = TracedSpan(event: "E", id: "i", stage: .wire, start: .max, duration: 1)
        func event(_ spans: [TracedSpan]) -> EventsTraced {
            EventsTraced(process: "a", pid: 1, spans: spans, threads: [], dropped: 0)
        }
        #expect(throws: (any Error).self) { try event([span]).validate() }
        let fine = TracedSpan(event: "E", id: "i", stage: .wire, start: .max, duration: 0)
        #expect(throws: Never.self) { try event(Array(repeating: fine, count: 1_000)).validate() }
        #expect(throws: (any Error).self) { try event(Array(repeating: fine, count: 1_001)).validate() }
    }
}
