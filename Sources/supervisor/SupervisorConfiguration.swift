import DomainEvents

/// What a configuration file says: the workers, and how they are supervised.
///
/// A plain value with the defaults filled in. It knows the words of the file, not the types that carry them out.
struct SupervisorConfiguration: Sendable, Hashable {
    /// Who is restarted with a worker that ended.
    enum Strategy: String, Sendable, Hashable, CaseIterable {
        case oneForOne = "one-for-one"
        case oneForAll = "one-for-all"
        case restForOne = "rest-for-one"
    }

    /// How many restarts are borne in how much time before the supervisor gives up.
    struct Intensity: Sendable, Hashable {
        var restarts = 5
        var within: Duration = .seconds(10)
    }

    /// How many events that nobody could handle are kept.
    struct DeadLetters: Sendable, Hashable {
        /// What happens when there are as many.
        enum WhenFull: String, Sendable, Hashable, CaseIterable {
            /// A worker that makes more of them gets nothing more.
            case stop
            /// The oldest is thrown away.
            case evictOldest = "evict-oldest"
        }

        var letters = 1_000
        /// What they may take, in bytes.
        var bytes = 16 << 20
        var whenFull = WhenFull.stop
    }

    var strategy = Strategy.oneForOne
    var intensity = Intensity()
    var automaticShutdown = AutomaticShutdown.never
    var startOrder = StartOrder.together
    var deadLetters = DeadLetters()
    /// Where other processes attach, as written: a path that counts from the file; nil if none may.
    var control: String?
    /// In the order of the file, which is the order of the start; never empty.
    var workers: [Worker]
}

extension SupervisorConfiguration {
    /// One worker process.
    struct Worker: Sendable, Hashable {
        /// When the worker is started again after its end.
        enum Restart: String, Sendable, Hashable, CaseIterable {
            /// Always.
            case permanent
            /// Only after a crash or a failure.
            case transient
            /// Never.
            case temporary
        }

        /// How long restarts wait, growing from the one to the other.
        struct Backoff: Sendable, Hashable {
            var initial: Duration = .milliseconds(100)
            var maximum: Duration = .seconds(30)
        }

        /// How silence is told from work.
        struct Heartbeat: Sendable, Hashable {
            var every: Duration = .seconds(1)
            /// Heartbeats that may be missing in a row.
            var tolerance = 3
        }

        /// How the worker is stopped.
        struct Shutdown: Sendable, Hashable {
            /// From the request to stop until the worker is killed.
            var grace: Duration = .seconds(5)
        }

        /// What the worker may take up.
        struct Limits: Sendable, Hashable {
            /// Bytes of events that wait for the worker or for their acknowledgement.
            var outbox = 4 << 20
            /// What becomes of events without room, by event name.
            var overflow: [String: OverflowPolicy] = [:]
            /// Bytes of a single frame.
            var frame = 16 << 20
            /// Crashes over one event until that is put aside.
            var strikes = 3
            /// For how long the worker may have one event in its handlers; nil for as long as they like.
            var handlerDeadline: Duration?
            /// Bytes of what it prints that are shown in a second.
            var output = 1 << 20
            /// Event names that the worker may want.
            var interestNames = 4_096
            /// Event names that it may bring that nobody else knows.
            var eventNames = 4_096
            /// Control messages in a second, beside the answers to events.
            var controlMessages = 1_000
            /// For how long a frame may make no progress.
            var frameDeadline: Duration = .seconds(5)
        }

        /// Workers that share their events.
        struct Pool: Sendable, Hashable {
            /// Which of them gets an event.
            enum Key: Sendable, Hashable {
                case field(String)
                case anyMember
                case everyMember
            }

            var members: Int
            /// By event name; `*` stands for the rest.
            var keys: [String: Key] = [:]
        }

        var name: String
        /// As written: a path, or a name to look for beside the supervisor, beside the file and in `PATH`.
        var executable: String
        var arguments: [String] = []
        /// Added to the small clean environment that every worker gets.
        var environment: [String: String] = [:]
        /// The working directory; nil for the supervisor's own.
        var directory: String?
        /// Names of the events that the worker wants.
        var subscribes: [String] = []
        /// Names of the events that are taken from the worker; nil if all are.
        var publishes: [String]?
        var restart = Restart.permanent
        /// Whether its end may end all workers.
        var isSignificant = false
        /// How long it may have had nothing to do, if it runs only while there is something; nil if it runs all the time.
        var idleTime: Duration?
        var backoff = Backoff()
        /// From the start of the process until it has to be ready.
        var handshake: Duration = .seconds(10)
        var heartbeat = Heartbeat()
        var shutdown = Shutdown()
        var limits = Limits()
        /// How many of it run, and which of them gets an event; nil for one that gets all.
        var pool: Pool?
        /// Whether it may attach to the control socket.
        var allowsControl = false
        /// What it may use up and touch; nil for whatever the supervisor may.
        var box: Box?
    }
}
