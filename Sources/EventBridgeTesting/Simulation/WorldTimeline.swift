import BridgePlatform
import DomainEvents
import JSONText

/// A run of a world as JSON for Chrome's trace viewer and for Perfetto, in the world's own times.
///
/// Each started process has a track for each of its threads. The track shows the turns in which the thread had the
/// baton. A turn contains the events that the thread published and those that arrived on it. Arrows lead from where an
/// event was published to where it arrived, and from there to its effects. Each line of the story that is not about an
/// arrival, such as a fault, is an instant across all tracks.
struct WorldTimeline {
    /// The passage of an event through a process's router: the process publishes the event, or the event arrives in it.
    struct Passage: Sendable {
        let time: UInt64
        let thread: Int
        let process: Int
        let name: String
        let context: EventContext
        /// The sender of an arriving event; nil for a published one.
        let sender: String?
    }

    private struct Thread: Hashable {
        let process: Int
        let number: Int
    }

    private let turns: [Trace.Turn]
    private let passages: [Passage]
    private let story: [WorldCore.StoryLine]
    private let failure: SimulationFailure
    private let seed: UInt64

    init(_ world: WorldCore, _ failure: SimulationFailure) {
        // Turns after the end of the run are left out: in them the world only ends the threads of killed processes.
        let end = Scheduler.beginning + failure.nanoseconds
        turns = world.scheduler.trace.turns.filter { $0.begin <= end }
        passages = world.passages
        story = world.story
        seed = world.scheduler.choices.seed
        self.failure = failure
    }

    /// Writes the timeline to a file, and returns the path of the timeline, or why it was not written.
    func write(to path: String) -> String {
        do throws(SystemFileError) {
            try SystemFile.create(path).append(text)
            return path
        } catch {
            return "\(path) cannot be written: \(error)"
        }
    }

    private var text: [UInt8] {
        var text = TraceText([("clock", "the world's own"), ("seed", "\(seed)"), ("choices", failure.choices)])
        for entry in names { text.append(entry) }
        let timed = turnEntries + passageEntries + flowEntries + storyEntries
        // If turns and events begin together, the longer one encloses the other and comes first.
        let ordered = timed.indices.sorted { left, right in
            let (one, other) = (timed[left], timed[right])
            return (one.time ?? 0, other.duration ?? 0, left) < (other.time ?? 0, one.duration ?? 0, right)
        }
        for index in ordered { text.append(timed[index]) }
        text.end()
        return text.take()
    }

    // MARK: - Tracks

    /// The number of a process on the timeline.
    private static func identifier(of process: Int) -> Int32 { 1_000 + Int32(clamping: process) }

    /// The names of processes and threads; from the second start on, a process's name has the start's number.
    private var names: [TraceEntry] {
        var processes: [Int: String] = [:]
        var threads: [Thread: String] = [:]
        for turn in turns {
            processes[turn.process] = turn.processName
            threads[Thread(process: turn.process, number: turn.thread)] = turn.threadName
        }
        var starts: [String: Int] = [:]
        var found: [TraceEntry] = []
        for (place, (number, name)) in processes.sorted(by: { $0.key < $1.key }).enumerated() {
            starts[name, default: 0] += 1
            let start = starts[name] ?? 1
            let title = start == 1 ? name : "\(name) \(start)"
            found += TraceEntry.names(ofProcess: Self.identifier(of: number), title, at: place)
        }
        for (thread, name) in threads.sorted(by: { $0.key.number < $1.key.number }) {
            let process = Self.identifier(of: thread.process)
            found.append(TraceEntry.name(ofThread: UInt64(thread.number), of: process, "\(name) \(thread.number)"))
        }
        return found
    }

    private func entry(
        _ name: String,
        _ phase: String,
        _ category: String,
        of process: Int,
        at time: UInt64
    ) -> TraceEntry {
        var entry = TraceEntry(name, phase, process: Self.identifier(of: process))
        entry.category = category
        entry.time = time - Scheduler.beginning
        return entry
    }

    private var turnEntries: [TraceEntry] {
        turns.map { turn in
            var entry = entry("runs", "X", "turn", of: turn.process, at: turn.begin)
            entry.thread = UInt64(turn.thread)
            entry.duration = turn.end - turn.begin
            return entry
        }
    }

    // MARK: - Events

    /// The entries of events; an event lasts until its thread comes to the next event or hands the baton on.
    private var passageEntries: [TraceEntry] {
        var ends = passages.map(\.time)
        var newest: [Int: Int] = [:]
        var turn = 0
        for (index, passage) in passages.enumerated() {
            while turn + 1 < turns.count, turns[turn + 1].begin <= passage.time { turn += 1 }
            if turn < turns.count, turns[turn].thread == passage.thread, turns[turn].begin <= passage.time {
                ends[index] = max(passage.time, turns[turn].end)
            }
            if let before = newest[passage.thread] { ends[before] = min(ends[before], passage.time) }
            newest[passage.thread] = index
        }
        return zip(passages, ends).map { passage, end in
            let title = "\(passage.sender == nil ? "publishes" : "gets") \(passage.name)"
            var entry = entry(title, "X", "event", of: passage.process, at: passage.time)
            entry.thread = UInt64(passage.thread)
            entry.duration = end - passage.time
            entry.arguments = [("event", .text(passage.name)), ("id", .text(passage.context.id.description))]
            if let cause = passage.context.cause { entry.arguments.append(("cause", .text(cause.description))) }
            if let sender = passage.sender { entry.arguments.append(("from", .text(sender))) }
            if passage.context.attempt != 1 {
                entry.arguments.append(("attempt", .number(UInt64(max(0, passage.context.attempt)))))
            }
            return entry
        }
    }

    private var flowEntries: [TraceEntry] {
        struct Place: Hashable {
            let process: Int
            let id: EventID
        }
        var published: [EventID: Int] = [:]
        var arrived: [Place: Int] = [:]
        var flows: [(name: String, from: Int, to: Int)] = []
        for (index, passage) in passages.enumerated() {
            let id = passage.context.id
            if passage.sender != nil {
                arrived[Place(process: passage.process, id: id)] = index
                if let from = published[id] { flows.append(("way of the event", from, index)) }
            } else if published[id] == nil {
                published[id] = index
                guard let cause = passage.context.cause,
                    let from = arrived[Place(process: passage.process, id: cause)] ?? published[cause]
                else { continue }
                flows.append(("cause", from, index))
            }
        }
        return flows.enumerated().flatMap { number, flow in
            [(flow.from, "s"), (flow.to, "f")].map { index, phase in
                let passage = passages[index]
                var entry = entry(flow.name, phase, "flow", of: passage.process, at: passage.time)
                entry.thread = UInt64(passage.thread)
                entry.identifier = "\(number + 1)"
                // Without this flag the arrow would end at the next turn or event that begins.
                entry.bindsToEnclosing = phase == "f"
                return entry
            }
        }
    }

    // MARK: - The story

    private var storyEntries: [TraceEntry] {
        var lines: [(time: UInt64, text: String, category: String)] = []
        for line in story {
            guard case .text(let text) = line.what else { continue }
            lines.append((line.time, text, text == failure.reason ? "failure" : "story"))
        }
        // The story has no line for a deadlock, or for a run without end.
        if !lines.contains(where: { $0.category == "failure" }) {
            lines.append((Scheduler.beginning + failure.nanoseconds, failure.reason, "failure"))
        }
        return lines.map { time, text, category in
            var entry = entry(text, "i", category, of: 0, at: time)
            entry.scope = "g"
            return entry
        }
    }
}
