/// Says how a child is stopped: in steps, and with SIGKILL after the last step.
///
/// Each step has a grace, the time that it gives the child to end. If the child has not ended by then, the supervisor
/// takes the next step. A child that drains may ask for more time; once it has said goodbye, it has one second left.
/// No process can ignore SIGKILL.
public struct ShutdownSequence: Hashable, Sendable {
    /// One action that makes a child end, and the time that the child then has.
    public enum Step: Hashable, Sendable {
        /// Asks the child over its link to finish what it has and to say goodbye.
        ///
        /// The supervisor skips this step for a child that is not ready, and when the stop is escalated.
        case drain(grace: Duration)

        /// Sends the child a signal.
        case signal(ChildSignal, grace: Duration)

        /// How long the child may live on after this step.
        public var grace: Duration {
            switch self {
            case .drain(let grace), .signal(_, let grace): grace
            }
        }
    }

    /// The steps before SIGKILL, in order.
    public var steps: [Step]

    /// Makes a sequence of any steps; SIGKILL follows after the grace of the last step.
    public init(steps: [Step]) {
        self.steps = steps
    }

    /// The sequence of drain, SIGTERM and SIGKILL.
    ///
    /// - Parameters:
    ///   - grace: the time to drain in; 5 s by default, enough for the events in a window.
    ///   - terminate: the time from SIGTERM to SIGKILL; 1 s by default, enough for a process that ends when asked.
    public static func draining(
        grace: Duration = .seconds(5),
        terminate: Duration = .seconds(1)
    ) -> ShutdownSequence {
        ShutdownSequence(steps: [.drain(grace: grace), .signal(.terminate, grace: terminate)])
    }

    /// The sequence of SIGKILL alone, at once.
    public static let killing = ShutdownSequence(steps: [])

    /// Finds every mistake, each as a sentence; empty if there is none.
    public func validate() -> [String] {
        steps.flatMap { step in
            switch step {
            case .drain(let grace): grace.mistakes(as: "the grace to drain in")
            case .signal(let signal, let grace): grace.mistakes(as: "the grace after \(signal)")
            }
        }
    }

    /// How long a child may take to end its process after a goodbye, or to die after a signal for a fault.
    package static let exitGrace = Duration.seconds(1)

    /// The sequence for a child that never became ready: there is no link to drain over.
    package static let unready = ShutdownSequence(steps: [.signal(.terminate, grace: exitGrace)])

    /// The sequence for a child that does not answer: SIGABRT leaves a core that shows where the child hangs.
    package static let unresponsive = ShutdownSequence(steps: [.signal(.abort, grace: exitGrace)])
}
