package import DomainEvents

/// The content of a configuration file: the workers, and how they are supervised.
///
/// This is a plain value with the defaults filled in. It uses no types of `EventBridge` and `Supervision`, the modules
/// that apply the settings.
package struct SupervisorConfiguration: Sendable, Hashable {
    /// Which workers are restarted with a worker that ended.
    package enum Strategy: String, Sendable, Hashable, CaseIterable {
        case oneForOne = "one-for-one"
        case oneForAll = "one-for-all"
        case restForOne = "rest-for-one"
    }

    /// How many restarts the supervisor allows within a time before it gives a worker up.
    package struct Intensity: Sendable, Hashable {
        package var restarts = 5
        package var within: Duration = .seconds(10)
    }

    /// How many dead letters are kept.
    package struct DeadLetters: Sendable, Hashable {
        /// What happens when the letters have reached a limit.
        package enum WhenFull: String, Sendable, Hashable, CaseIterable {
            /// A worker that could not handle an event gets no more events until there is room.
            case stop
            /// The oldest letters are evicted until the new letter has room, or no old letter is left.
            case evictOldest = "evict-oldest"
        }

        package var letters = 1_000
        /// The limit on the letters' bytes; an event that a worker could not handle is kept even beyond the limit.
        package var bytes = 16 << 20
        package var whenFull = WhenFull.stop
    }

    package var strategy = Strategy.oneForOne
    package var intensity = Intensity()
    package var automaticShutdown = AutomaticShutdownSetting.never
    package var startOrder = StartOrderSetting.together
    package var deadLetters = DeadLetters()
    /// Which events a journal keeps; nil for no journal.
    package var journal: KeptEvents?
    /// The control socket's path as written, relative to the configuration's directory unless absolute; nil for none.
    package var control: String?
    /// The workers, at least one, in the file's order; a new supervisor starts them in this order.
    package var workers: [Worker]
}

extension SupervisorConfiguration {
    /// One worker process.
    package struct Worker: Sendable, Hashable {
        /// The ends after which the worker is started again, unless the end was requested or the worker is given up.
        package enum Restart: String, Sendable, Hashable, CaseIterable {
            /// After every end.
            case permanent
            /// After a crash or a failure; if the worker is on demand, after every end.
            case transient
            /// After no end.
            case temporary
        }

        /// How long restarts wait: the pause grows from the initial to the maximum pause.
        package struct Backoff: Sendable, Hashable {
            package var initial: Duration = .milliseconds(100)
            package var maximum: Duration = .seconds(30)
        }

        /// How often a worker sends a heartbeat, and how many may be missing before the worker counts as hanging.
        package struct HeartbeatSetting: Sendable, Hashable {
            package var every: Duration = .seconds(1)
            /// How many heartbeats in a row may be missing.
            package var tolerance = 3
        }

        /// How the worker is stopped.
        package struct Shutdown: Sendable, Hashable {
            /// The time from the drain request until SIGTERM; the worker may extend it, and SIGKILL follows 1 s later.
            package var grace: Duration = .seconds(5)
        }

        /// Limits on the worker's use of the bridge.
        package struct Limits: Sendable, Hashable {
            /// How many bytes of events the worker may leave unacknowledged before `send` waits; events that were not
            /// written yet count too.
            package var outbox = 4 << 20
            /// What becomes of events for which there is no room, by event name.
            package var overflow: [String: OverflowPolicy] = [:]
            /// How many bytes a single frame may have.
            package var frame = 16 << 20
            /// After how many crashes, missed deadlines or protocol errors the event at fault becomes a dead letter;
            /// nil for never.
            package var strikes: Int? = 3
            /// How long the worker's handlers may take for one event; nil for no limit.
            package var handlerDeadline: Duration?
            /// How many bytes of the worker's output are passed on per second; four times as many may come at once.
            package var output = 1 << 20
            /// How many event names each process of the worker may want in its life.
            package var interestNames = 4_096
            /// How many new event names the worker may bring: names that no other process of the bridge knows.
            package var eventNames = 4_096
            /// How many control messages the worker may send per second, not counting answers to events.
            package var controlMessages = 1_000
            /// How long the worker may take for the next 4 KiB of a frame that it has begun.
            package var frameDeadline: Duration = .seconds(5)
        }

        /// The members of a worker: processes that share the worker's events.
        package struct Pool: Sendable, Hashable {
            /// How the pool finds the members that get an event.
            package enum Key: Sendable, Hashable {
                case field(String)
                case anyMember
                case everyMember
            }

            package var members: Int
            /// The keys by event name; `*` stands for all other names.
            package var keys: [String: Key] = [:]
        }

        package var name: String
        /// The path that a `ProgramSearch` gives for the program, whether or not it has found one.
        ///
        /// A configuration that was parsed without a search has the path as written.
        package var executable: String
        package var arguments: [String] = []
        /// Variables that are added to the small clean environment that every worker gets.
        package var environment: [String: String] = [:]
        /// The working directory; nil for the supervisor's own.
        package var directory: String?
        /// The names of the events that the worker wants.
        package var subscribes: [String] = []
        /// The names of the events that the worker may publish; nil if the file does not limit them.
        package var publishes: [String]?
        /// Whether the worker may import events of other machines.
        package var mayImport = false
        package var restart = Restart.permanent
        /// Whether the worker's end may end all workers.
        package var isSignificant = false
        /// Whether the restart strategy leaves the worker out; a configuration file cannot set this.
        package var standsAlone = false
        /// How long an on-demand worker may have nothing to do before it is stopped; nil if it is not on demand.
        package var idleTime: Duration?
        package var backoff = Backoff()
        /// The time from the start of the process until the worker has to be ready, unless it asks for more time.
        package var handshake: Duration = .seconds(10)
        package var heartbeat = HeartbeatSetting()
        package var shutdown = Shutdown()
        package var limits = Limits()
        /// How many members the worker has, and which member gets an event; nil for a worker without members.
        package var pool: Pool?
        /// Whether the worker may attach to the control socket.
        package var allowsControl = false
        /// The limits on the worker's resources, and what the worker may access; nil for a worker without a box.
        package var box: Box?
    }
}

extension SupervisorConfiguration.Worker {
    /// Makes a worker with the default of every other setting.
    package init(_ name: String, running executable: String) {
        self.init(name: name, executable: executable)
    }
}
