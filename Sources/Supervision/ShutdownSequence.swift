/// Says how a child is stopped: steps with a grace each, which always end in SIGKILL.
///
/// A step is taken only if the child is still there when the grace of the one before has passed. After the last one
/// comes SIGKILL, which no process can ignore, so that stopping a child always comes to an end.
public struct ShutdownSequence: Hashable, Sendable {
    /// One thing that is done to make a child end, and the time that it has to do so.
    public enum Step: Hashable, Sendable {
        /// Asks the child over its link to finish what it has and to say goodbye. Left out for a child that is not
        /// ready, and when stopping is hurried.
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

    /// Makes a sequence of any steps; SIGKILL follows after the grace of the last one.
    public init(steps: [Step]) {
        self.steps = steps
    }

    /// Drain, SIGTERM, SIGKILL.
    ///
    /// - Parameters:
    ///   - grace: the time to drain in; 5 s by default, enough for the events in a window.
    ///   - terminate: the time from SIGTERM to SIGKILL; 1 s by default, enough to end a process that wants to.
    public static func draining(
        grace: Duration = .seconds(5),
        terminate: Duration = .seconds(1)
    ) -> ShutdownSequence {
        ShutdownSequence(steps: [.drain(grace: grace), .signal(.terminate, grace: terminate)])
    }

    /// SIGKILL at once.
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

    /// How long a child that said goodbye may take to end its process, and one that was signalled for a fault to die.
    package static let exitGrace = Duration.seconds(1)

    /// For a child that never became ready: there is no link to drain over.
    package static let unready = ShutdownSequence(steps: [.signal(.terminate, grace: exitGrace)])

    /// For a child that does not answer: SIGABRT leaves a core that tells where it hangs.
    package static let unresponsive = ShutdownSequence(steps: [.signal(.abort, grace: exitGrace)])
}
