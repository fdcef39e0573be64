import DomainEvents
import Locks

/// Keeps the processes' reports on the ways of events until they are written.
final class TraceCollector: @unchecked Sendable {
    // Sendable: guarded by `lock`.

    /// The most spans that are kept; they take about 150 MB.
    static let capacity = 500_000

    private let lock = Lock()
    private var trace = RecordedTrace()
    private let capacity: Int

    init(capacity: Int = TraceCollector.capacity) {
        self.capacity = capacity
    }

    /// Adds the spans of a report, as far as there is room, and returns whether there is room for more spans.
    func add(_ event: EventsTraced) -> Bool {
        lock.withLock {
            let room = capacity - trace.spans.count
            trace.add(event, spans: room)
            return event.spans.count < room
        }
    }

    /// Notes missing batches of spans; how many spans they had is not known.
    func missed(_ batches: Int) {
        // The number comes from a peer, and may be as large as a number gets.
        lock.withLock {
            let (sum, overflow) = trace.missedBatches.addingReportingOverflow(batches)
            trace.missedBatches = overflow ? .max : sum
        }
    }

    var recorded: RecordedTrace { lock.withLock { trace } }
}

/// The ways of events through several processes, as the processes have reported them.
struct RecordedTrace: Sendable {
    /// A process; two starts of one worker are two processes.
    struct Process: Sendable, Hashable {
        let name: String
        let pid: Int32
    }

    struct Thread: Sendable, Hashable {
        let process: Process
        let id: UInt64
    }

    private(set) var spans: [(process: Process, span: TracedSpan)] = []
    private(set) var threads: [Thread: String] = [:]
    private(set) var processes: [Process] = []
    /// The number of spans that the processes or this trace have left out.
    private(set) var dropped: UInt64 = 0
    /// The number of batches of spans that have not come.
    var missedBatches = 0

    /// - Parameter spans: how many spans there is room for.
    mutating func add(_ event: EventsTraced, spans room: Int = .max) {
        let process = Process(name: event.process, pid: event.pid)
        if !processes.contains(process) { processes.append(process) }
        for thread in event.threads { threads[Thread(process: process, id: thread.id)] = thread.name }
        let taken = event.spans.prefix(max(0, room))
        for span in taken { spans.append((process, span)) }
        let left = event.dropped.addingReportingOverflow(UInt64(event.spans.count - taken.count))
        let sum = dropped.addingReportingOverflow(left.overflow ? .max : left.partialValue)
        dropped = sum.overflow ? .max : sum.partialValue
    }
}
