/// Asks for another process in a child's place.
package struct ReplacementRequest: Hashable, Sendable {
    /// The number of the request, under which the outcome is reported; never used twice.
    package var number: Int

    /// The specification of the new process and of all later ones; it has to be valid and have the same name.
    package var specification: ChildSpecification

    /// How long the present process may take to finish what it has.
    package var grace: Duration

    package init(number: Int, specification: ChildSpecification, grace: Duration) {
        self.number = number
        self.specification = specification
        self.grace = grace
    }
}

/// What has become of a request to replace a child's process.
package enum ReplacementOutcome: Hashable, Sendable {
    /// Another process does the child's work; `old` is nil if the child was down at that moment.
    case replaced(old: Int32?, new: Int32?)

    /// The child was down or going down: its next start uses the new specification.
    case exchanged

    /// The replacement failed, for this reason; unless the child was stopped or given up, it works or will work again.
    case failed(String)
}

/// The process that comes up beside a child's present one, to take its place.
struct Replacement: Sendable {
    let request: ReplacementRequest
    /// The number of the process's start.
    let start: Int
    /// How long the process has for its start.
    var time: TimeLimit
    var phase = Phase.spawning
    var pid: Int32?
    /// The decided outcome, after which the process only has to end; nil while the outcome is open.
    var outcome: ReplacementOutcome?

    init(_ request: ReplacementRequest, start: Int, launchedAt: Duration) {
        self.request = request
        self.start = start
        time = TimeLimit(launchedAt: launchedAt)
    }

    enum Phase: Hashable, Sendable {
        /// A process was requested, and the answer has not come yet.
        case spawning
        /// There is a process, and the timer of its deadline to be ready runs.
        case starting(TimerToken?)
        /// The process is ready, and waits for the end of the present process.
        case ready
        case stopping(SupervisedChild.Stopping)
    }

    /// The timer that runs for the present phase; nil if none runs.
    var timer: TimerToken? {
        switch phase {
        case .starting(let token): token
        case .stopping(let stopping): stopping.timer
        case .spawning, .ready: nil
        }
    }

    var status: ChildReplacement {
        ChildReplacement(start: start, pid: pid, isReady: phase == .ready)
    }
}
