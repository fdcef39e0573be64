import Dispatch
import Synchronization

/// Decides and touches nothing: takes inputs, gives actions.
protocol Machine: Sendable {
    associatedtype Input: Sendable
    associatedtype Action

    /// What the machine is told when its timer has run out.
    static var timeOver: Input { get }

    mutating func handle(_ input: Input) -> [Action]
}

/// What comes of an action.
enum ActionOutcome<Input> {
    case done
    /// Something that the machine is told before everything else.
    case input(Input)
    /// The machine's one timer runs out after this time; without a time it does not run.
    case timer(Duration?)
}

/// A thread that gives a machine its inputs and does what it says, and may wait for a broker meanwhile.
///
/// Callbacks of the NATS client and handlers of the bridge only put inputs in, from any thread; their order is kept.
final class MachineThread<Worker: Machine>: Sendable {
    private let inputs = Mutex<[Worker.Input]?>([])
    private let arrivals = DispatchSemaphore(value: 0)

    func put(_ input: Worker.Input) {
        let isFirst = inputs.withLock { inputs in
            inputs?.append(input)
            return inputs?.count == 1
        }
        if isFirst { arrivals.signal() }
    }

    /// Ends the thread before its next input.
    func stop() {
        inputs.withLock { $0 = nil }
        arrivals.signal()
    }

    /// Starts the thread; called once.
    func start(
        _ name: String,
        _ machine: Worker,
        _ perform: @escaping @Sendable (Worker.Action) -> ActionOutcome<Worker.Input>
    ) {
        // A queue with one block, which never ends, is a thread.
        DispatchQueue(label: name).async {
            var machine = machine
            var deadline = DispatchTime.distantFuture
            while true {
                _ = self.arrivals.wait(timeout: deadline)
                guard var inputs = self.takeInputs() else { return }
                if DispatchTime.now() >= deadline {
                    deadline = .distantFuture
                    inputs.append(Worker.timeOver)
                }
                for input in inputs { Self.handle(input, &machine, &deadline, perform) }
            }
        }
    }

    private static func handle(
        _ input: Worker.Input,
        _ machine: inout Worker,
        _ deadline: inout DispatchTime,
        _ perform: (Worker.Action) -> ActionOutcome<Worker.Input>
    ) {
        var inputs = [input]
        while let input = inputs.popLast() {
            for action in machine.handle(input) {
                switch perform(action) {
                case .done: break
                case .input(let input): inputs.append(input)
                case .timer(let time): deadline = time.map { .now() + $0.dispatchInterval } ?? .distantFuture
                }
            }
        }
    }

    /// - Returns: Nil when the thread has to end.
    private func takeInputs() -> [Worker.Input]? {
        inputs.withLock { inputs in
            defer { if inputs != nil { inputs = [] } }
            return inputs
        }
    }
}

extension Duration {
    /// The same time for Dispatch, in whole milliseconds.
    fileprivate var dispatchInterval: DispatchTimeInterval {
        .milliseconds(Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000))
    }
}
