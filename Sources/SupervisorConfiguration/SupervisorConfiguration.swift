package import DomainEvents

/// What a configuration file says: the workers, and how they are supervised.
///
/// A plain value with the defaults filled in. It knows the words of the file, not the types that carry them out.
package struct SupervisorConfiguration: Sendable, Hashable {
    /// Who is restarted with a worker that ended.
    package enum Strategy: String, Sendable, Hashable, CaseIterable {
        case oneForOne = "one-for-one"
        case oneForAll = "one-for-all"
        case restForOne = "rest-for-one"
    }

    /// How many restarts are borne in how much time before the supervisor gives up.
    package struct Intensity: Sendable, Hashable {
        package var restarts = 5
        package var within: Duration = .seconds(10)
    }

    /// How many events that could not be handled are kept.
    package struct DeadLetters: Sendable, Hashable {
        /// What happens when there are as many.
        package enum WhenFull: String, Sendable, Hashable, CaseIterable {
            /// A worker that makes more of them gets nothing more.
            case stop
            /// The oldest is thrown away.
            case evictOldest = "evict-oldest"
        }

        package var letters = 1_000
        /// What they may take, in bytes.
        package var bytes = 16 << 20
        package var whenFull = WhenFull.stop
    }

    package var strategy = Strategy.oneForOne
    package var intensity = Intensity()
    package var automaticShutdown = AutomaticShutdown.never
    package var startOrder = StartOrder.together
    package var deadLetters = DeadLetters()
    /// Where other processes attach, as written: a path that counts from the file; nil if none may.
    package var control: String?
    /// In the order of the file, which is the order of the start; never empty.
    package var workers: [Worker]
}

extension SupervisorConfiguration {
    /// One worker process.
    package struct Worker: Sendable, Hashable {
        /// When the worker is started again after its end.
        package enum Restart: String, Sendable, Hashable, CaseIterable {
            /// Always.
            case permanent
            /// Only after a crash or a failure.
            case transient
            /// Never.
            case temporary
        }

        /// How long restarts wait, growing from the one to the other.
        package struct Backoff: Sendable, Hashable {
            package var initial: Duration = .milliseconds(100)
            package var maximum: Duration = .seconds(30)
        }

        /// How silence is told from work.
        package struct Heartbeat: Sendable, Hashable {
            package var every: Duration = .seconds(1)
            /// Heartbeats that may be missing in a row.
            package var tolerance = 3
        }

        /// How the worker is stopped.
        package struct Shutdown: Sendable, Hashable {
            /// From the request to stop until the worker is killed.
            package var grace: Duration = .seconds(5)
        }

        /// What the worker may take up.
        package struct Limits: Sendable, Hashable {
            /// Bytes of events that wait for the worker or for their acknowledgement.
            package var outbox = 4 << 20
            /// What becomes of events without room, by event name.
            package var overflow: [String: OverflowPolicy] = [:]
            /// Bytes of a single frame.
            package var frame = 16 << 20
            /// Crashes over one event until that is put aside.
            package var strikes = 3
            /// For how long the worker may have one event in its handlers; nil for as long as they like.
            package var handlerDeadline: Duration?
            /// Bytes of what it prints that are shown in a second.
            package var output = 1 << 20
            /// Event names that the worker may want.
            package var interestNames = 4_096
            /// Event names that it may bring and that neither the host nor another worker knows.
            package var eventNames = 4_096
            /// Control messages in a second, beside the answers to events.
            package var controlMessages = 1_000
            /// For how long a frame may make no progress.
            package var frameDeadline: Duration = .seconds(5)
        }

        /// Workers that share their events.
        package struct Pool: Sendable, Hashable {
            /// Which of them gets an event.
            package enum Key: Sendable, Hashable {
                case field(String)
                case anyMember
                case everyMember
            }

            package var members: Int
            /// By event name; `*` stands for the rest.
            package var keys: [String: Key] = [:]
        }

        package var name: String
        /// As written: a path, or a name to look for beside the supervisor, beside the file and in `PATH`.
        package var executable: String
        package var arguments: [String] = []
        /// Added to the small clean environment that every worker gets.
        package var environment: [String: String] = [:]
        /// The working directory; nil for the supervisor's own.
        package var directory: String?
        /// Names of the events that the worker wants.
        package var subscribes: [String] = []
        /// Names of the events that are taken from the worker; nil if all are.
        package var publishes: [String]?
        package var restart = Restart.permanent
        /// Whether its end may end all workers.
        package var isSignificant = false
        /// How long it may have had nothing to do, if it runs only while there is something; nil if it runs all the
        /// time.
        package var idleTime: Duration?
        package var backoff = Backoff()
        /// From the start of the process until it has to be ready.
        package var handshake: Duration = .seconds(10)
        package var heartbeat = Heartbeat()
        package var shutdown = Shutdown()
        package var limits = Limits()
        /// How many of it run, and which of them gets an event; nil for one that gets all.
        package var pool: Pool?
        /// Whether it may attach to the control socket.
        package var allowsControl = false
        /// What it may use up and touch; nil for whatever the supervisor may.
        package var box: Box?
    }
}

extension SupervisorConfiguration.Worker {
    /// A worker of which everything else is as it is without a word in the file.
    package init(_ name: String, running executable: String) {
        self.init(name: name, executable: executable)
    }
}
