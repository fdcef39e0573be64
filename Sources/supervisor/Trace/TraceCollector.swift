import DomainEvents
import Locks

/// Keeps the processes' reports on the ways of events until they are written.
final class TraceCollector: @unchecked Sendable {
    // Sendable: guarded by `lock`.

    /// The most spans that are kept; with ordinary names they take about 150 MB.
    static let capacity = 500_000

    /// The most bytes that are kept, as ``RecordedTrace`` charges them: the processes choose the length of their names.
    static let bytes = 256 << 20

    private let lock = Lock()
    private var trace: RecordedTrace

    init(capacity: Int = TraceCollector.capacity, bytes: Int = TraceCollector.bytes) {
        trace = RecordedTrace(capacity: capacity, bytes: bytes)
    }

    /// Adds a report, as far as there is room, and returns whether there is room for more spans.
    func add(_ event: EventsTraced) -> Bool { lock.withLock { trace.add(event) } }

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

    /// How many bytes each span, thread and process is charged besides its texts.
    private static let entryBytes = 256

    private(set) var spans: [(process: Process, span: TracedSpan)] = []
    private(set) var threads: [Thread: String] = [:]
    private(set) var processes: [Process] = []
    /// The number of spans that the processes or this trace have left out.
    private(set) var dropped: UInt64 = 0
    /// The number of batches of spans that have not come.
    var missedBatches = 0
    private let capacity: Int
    /// How many bytes there is room for; nil once something has found no room.
    private var room: Int?
    private var known: Set<Process> = []

    /// - Parameters:
    ///   - capacity: how many spans there is room for.
    ///   - bytes: how many bytes there is room for, in spans, threads and processes together.
    init(capacity: Int = .max, bytes: Int = .max) {
        self.capacity = capacity
        room = bytes
    }

    /// Adds a report, as far as there is room.
    ///
    /// - Returns: Whether there is room for more spans.
    @discardableResult
    mutating func add(_ event: EventsTraced) -> Bool {
        let taken = take(event)
        let left = event.dropped.addingReportingOverflow(UInt64(event.spans.count - taken))
        let sum = dropped.addingReportingOverflow(left.overflow ? .max : left.partialValue)
        dropped = sum.overflow ? .max : sum.partialValue
        return room != nil && spans.count < capacity
    }

    /// - Returns: How many of the report's spans had room.
    private mutating func take(_ event: EventsTraced) -> Int {
        var process = Process(name: event.process, pid: event.pid)
        if let index = known.firstIndex(of: process) {
            // All spans of the process share the memory of the name that came first, which was charged.
            process = known[index]
        } else {
            guard takeRoom(for: process.name) else { return 0 }
            known.insert(process)
            processes.append(process)
        }
        for thread in event.threads {
            let key = Thread(process: process, id: thread.id)
            guard threads[key] != thread.name else { continue }
            guard takeRoom(for: thread.name) else { return 0 }
            threads[key] = thread.name
        }
        var taken = 0
        for span in event.spans {
            guard spans.count < capacity, takeRoom(for: span.event, span.id, span.cause, span.peer) else { break }
            spans.append((process, span))
            taken += 1
        }
        return taken
    }

    /// Takes room for an entry with these texts, and returns whether there was enough.
    private mutating func takeRoom(for texts: String?...) -> Bool {
        let bytes = texts.reduce(Self.entryBytes) { $0 + ($1?.utf8.count ?? 0) }
        room = room.flatMap { $0 < bytes ? nil : $0 - bytes }
        return room != nil
    }
}
