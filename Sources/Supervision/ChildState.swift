/// Says where a child is in its life.
public enum ChildState: Hashable, Sendable {
    /// The child was never started.
    case notStarted

    /// The child's process waits for its turn to start, is being started, or has started and is not ready yet.
    case starting

    /// The child has finished its handshake and does its work.
    case ready

    /// The child was asked to finish what it has and to say goodbye.
    case draining

    /// Signals are ending the child, it has said goodbye and is about to end, or the host handles what it has left.
    case stopping

    /// The child is down until this time of the supervisor's monotonic clock; then it starts again, or is `dormant`.
    ///
    /// The attempt counts failures in a row: the child's own, or those of the sibling whose failure restarts the group.
    /// The time is nil while siblings that restart with the child are still being stopped.
    case backingOff(attempt: Int, until: Duration?)

    /// The child is on demand, and stays down until an event comes for it.
    case dormant

    /// The child is down and stays so: it was asked to stop, or has ended and its restart type does not bring it back.
    case stopped

    /// The child is down and stays so because further starts were of no use.
    case gaveUp(reason: String)

    /// Whether the child is down and only a request brings it back.
    public var isAtRest: Bool {
        switch self {
        case .notStarted, .stopped, .gaveUp: true
        case .starting, .ready, .draining, .stopping, .backingOff, .dormant: false
        }
    }
}

extension ChildState: CustomStringConvertible {
    /// A phrase for a status line, such as `ready` or `backing off (attempt 2)`.
    public var description: String {
        switch self {
        case .notStarted: "not started"
        case .starting: "starting"
        case .ready: "ready"
        case .draining: "draining"
        case .stopping: "stopping"
        case .backingOff(let attempt, _): "backing off (attempt \(attempt))"
        case .dormant: "waiting for something to do"
        case .stopped: "stopped"
        case .gaveUp(let reason): "gave up: \(reason)"
        }
    }

    /// The same with its verb: what follows `it` in a sentence, such as `is ready`.
    package var predicate: String {
        switch self {
        case .gaveUp(let reason): "was given up: \(reason)"
        default: "is \(description)"
        }
    }
}
