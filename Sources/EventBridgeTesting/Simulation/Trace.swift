/// The steps of a world's threads, as the scheduler saw them; two equal runs have equal traces.
struct Trace: Sendable {
    enum Kind: UInt8, Sendable {
        case start, run, point, yield, wait, end
    }

    struct Entry: Sendable, Equatable, CustomStringConvertible {
        let kind: Kind
        let thread: Int
        let name: String
        let time: UInt64

        var description: String { "\(time) \(name) \(thread) \(kind)" }
    }

    /// A time from one step to another during which one thread had the baton.
    struct Turn: Sendable {
        let thread: Int
        let threadName: String
        let process: Int
        let processName: String
        let begin: UInt64
        var end: UInt64
    }

    /// The digest of all entries.
    private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    private(set) var count: UInt64 = 0
    var keepsEntries = false
    private(set) var entries: [Entry] = []
    var keepsTurns = false
    private(set) var turns: [Turn] = []
    /// Whether the last step was a wait or a yield, so the last turn is over.
    private var hasPaused = true

    mutating func note(_ kind: Kind, _ thread: WorldThread, _ time: UInt64) {
        count += 1
        mix(UInt64(kind.rawValue) | UInt64(thread.number) << 8)
        mix(time)
        if keepsTurns { noteTurn(kind, thread, time) }
        if keepsEntries { entries.append(Entry(kind: kind, thread: thread.number, name: thread.name, time: time)) }
    }

    private mutating func noteTurn(_ kind: Kind, _ thread: WorldThread, _ time: UInt64) {
        switch kind {
        // The thread was started by another thread and has no turn yet.
        case .start: return
        case .run: begin(thread, time)
        case .point where hasPaused: begin(thread, time)
        case .point, .yield, .wait, .end: if turns.last?.thread == thread.number { turns[turns.count - 1].end = time }
        }
        hasPaused = kind == .wait || kind == .yield
    }

    private mutating func begin(_ thread: WorldThread, _ time: UInt64) {
        let process = thread.process
        turns.append(
            Turn(
                thread: thread.number,
                threadName: thread.name,
                process: process.number,
                processName: process.name,
                begin: time,
                end: time
            )
        )
    }

    private mutating func mix(_ value: UInt64) { digest = (digest ^ value) &* 0x100_0000_01b3 ^ (digest >> 29) }
}
