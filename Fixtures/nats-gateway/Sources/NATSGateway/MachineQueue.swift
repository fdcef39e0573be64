import Dispatch
import Synchronization

/// A state machine: takes inputs and decides on actions, but performs none.
protocol Machine: Sendable {
    associatedtype Input: Sendable
    associatedtype Action

    /// The input that the machine gets when its timer has run out.
    static var timeOver: Input { get }

    mutating func handle(_ input: Input) -> [Action]
}

/// The result of an action.
enum ActionOutcome<Input> {
    case done
    /// An input that the machine gets before all that wait.
    case input(Input)
    /// Starts the machine's one timer with this duration; nil stops it.
    case timer(Duration?)
}

/// Gives a machine its inputs, one after the other and in their order, and performs its actions.
///
/// An action may wait for a broker. So the inputs are handled on a queue, or, if the machine is idle, on the thread
/// that has an input and may wait: then no other thread has to wake up.
final class MachineQueue<Worker: Machine>: Sendable {
    private enum Entry {
        case input(Worker.Input)
        /// The machine's timer may have run out; the time says which look at the timer this is.
        case alarm(DispatchTime)
    }

    /// The machine and its timer; one thread at a time owns them.
    private struct Run {
        var machine: Worker
        /// When the timer runs out.
        var deadline: DispatchTime?
        /// When the queue looks at the timer next: not later than `deadline`, so a timer that starts anew for each
        /// answer costs no new look.
        var alarm: DispatchTime?
        let perform: @Sendable (Worker.Action) -> ActionOutcome<Worker.Input>
        let finish: @Sendable () -> Void

        mutating func handle(_ input: Worker.Input) {
            var inputs: [Worker.Input] = []
            var next: Worker.Input? = input
            while let input = next {
                for action in machine.handle(input) {
                    switch perform(action) {
                    case .done: break
                    case .input(let input): inputs.append(input)
                    case .timer(let time): deadline = time.map { .now() + $0.dispatchInterval }
                    }
                }
                next = inputs.popLast()
            }
        }

        mutating func ring(at time: DispatchTime) {
            guard alarm == time else { return }
            alarm = nil
            guard let deadline, deadline <= .now() else { return }
            self.deadline = nil
            handle(Worker.timeOver)
        }

        /// When the queue has to look at the timer, if that is earlier than its next look.
        mutating func nextAlarm() -> DispatchTime? {
            guard let deadline, alarm.map({ deadline < $0 }) ?? true else { return nil }
            alarm = deadline
            return deadline
        }
    }

    private struct State {
        var entries: [Entry] = []
        /// Nil before the start, while a thread handles entries, and after the end.
        var idle: Run?
        /// Whether the queue will look for entries.
        var isAwaited = false
        var isStopped = false
    }

    let queue: DispatchQueue
    private let state = Mutex(State())

    init(_ queue: DispatchQueue) { self.queue = queue }

    /// Begins with the machine; called once.
    ///
    /// - Parameters:
    ///   - perform: performs an action, and may wait.
    ///   - finish: is called whenever all inputs that were there have been handled.
    func start(
        _ machine: Worker,
        perform: @escaping @Sendable (Worker.Action) -> ActionOutcome<Worker.Input>,
        finish: @escaping @Sendable () -> Void
    ) {
        state.withLock { $0.idle = Run(machine: machine, perform: perform, finish: finish) }
        queue.async { self.handleEntries() }
    }

    /// Lets the queue, or the thread that handles inputs now, handle an input; may be called on any thread.
    func put(_ input: Worker.Input) { put(.input(input)) }

    /// Puts an input later, unless the machine has been stopped by then.
    func put(_ input: Worker.Input, after time: Duration) {
        queue.asyncAfter(deadline: .now() + time.dispatchInterval) { [weak self] in self?.put(input) }
    }

    /// Handles an input at once if the machine is idle; only from a thread that may wait for a broker.
    func run(_ input: Worker.Input) {
        var run = state.withLock { state -> Run? in
            guard !state.isStopped else { return nil }
            if state.entries.isEmpty, let idle = state.idle.take() { return idle }
            state.entries.append(.input(input))
            return nil
        }
        guard run != nil else { return handleEntries() }
        handle(.input(input), &run)
        run?.finish()
        handleEntries(with: &run)
    }

    /// Ends before the next turn: a thread that handles inputs goes on with those that it has taken.
    func stop() {
        // The machine is released outside the lock, with all that it holds.
        _ = state.withLock { state in
            state.isStopped = true
            state.entries = []
            return state.idle.take()
        }
    }

    private func put(_ entry: Entry) {
        let needsQueue = state.withLock { state in
            guard !state.isStopped else { return false }
            state.entries.append(entry)
            // A thread that handles entries looks for more before it ends.
            guard state.idle != nil, !state.isAwaited else { return false }
            state.isAwaited = true
            return true
        }
        if needsQueue { queue.async { self.handleEntries() } }
    }

    /// Handles all entries, unless another thread does.
    private func handleEntries() {
        var run = state.withLock { state in
            state.isAwaited = false
            return state.entries.isEmpty ? nil : state.idle.take()
        }
        handleEntries(with: &run)
    }

    private func handleEntries(with run: inout Run?) {
        while run != nil, let entries = nextEntries(orIdle: &run) {
            for entry in entries { handle(entry, &run) }
            run?.finish()
        }
    }

    private func handle(_ entry: Entry, _ run: inout Run?) {
        switch entry {
        case .input(let input): run?.handle(input)
        case .alarm(let time): run?.ring(at: time)
        }
        if let alarm = run?.nextAlarm() { queue.asyncAfter(deadline: alarm) { self.put(.alarm(alarm)) } }
    }

    /// The entries that have come meanwhile; nil if there are none, and then the machine is idle.
    ///
    /// `run` is moved: another thread may take it at once, and would copy the machine if this thread still had it.
    private func nextEntries(orIdle run: inout Run?) -> [Entry]? {
        state.withLock { state in
            guard !state.isStopped else { return nil }
            guard !state.entries.isEmpty else {
                state.idle = run.take()
                return nil
            }
            defer { state.entries = [] }
            return state.entries
        }
    }
}

extension Duration {
    /// The same time for Dispatch, in whole milliseconds.
    fileprivate var dispatchInterval: DispatchTimeInterval {
        .milliseconds(Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000))
    }
}
