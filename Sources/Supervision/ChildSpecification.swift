/// Describes a child: which program it runs, and how it is started, watched, restarted and stopped.
///
/// ```swift
/// let specification = ChildSpecification(
///     "provisioning",
///     executable: .beside("provisioning-worker"),
///     arguments: ["--store", "boxes.json"],
///     restart: .transient
/// )
/// ```
public struct ChildSpecification: Hashable, Sendable {
    /// The child's name; unique among its siblings.
    public var name: String

    /// Where the child's program is found.
    public var executable: ExecutableLocation

    /// The arguments that follow the program's name.
    public var arguments: [String]

    /// Variables that are added to a small environment, which has only a few of the supervisor's own, such as `PATH`.
    public var environment: [String: String]

    /// The directory that the child starts in; nil for the supervisor's own.
    public var workingDirectory: String?

    /// The ends after which the child is started again.
    public var restart: RestartType

    /// Whether the child's end may stop all its siblings; `AutomaticShutdown` says which ends do.
    public var isSignificant: Bool

    /// Whether the restart strategy leaves the child out: it fails and restarts as with `RestartStrategy.oneForOne`,
    /// and stays while its siblings restart or are given up.
    package var standsAlone = false

    /// The rule for a child that runs only while it has something to do; nil if the child runs all the time.
    public var onDemand: OnDemand?

    /// How long the supervisor waits before it starts the child again.
    public var backoff: Backoff

    /// The time from the child's start until it has to be ready.
    ///
    /// The supervisor stops a child that is late, unless the child has asked for more time or a debugger holds it. Such
    /// an end counts as a crash.
    public var handshakeTimeout: Duration

    /// How often the child has to show that it is alive.
    public var heartbeat: Heartbeat

    /// How the child is stopped.
    public var shutdown: ShutdownSequence

    /// Describes a child.
    ///
    /// - Parameters:
    ///   - name: the child's name; unique among its siblings.
    ///   - executable: where its program is found.
    ///   - arguments: the arguments that follow the program's name; none by default.
    ///   - environment: variables added to a small environment; none by default.
    ///   - workingDirectory: the directory to start in; by default the supervisor's own.
    ///   - restart: the ends after which it is started again; `.permanent` by default, as its events need a receiver.
    ///   - isSignificant: whether its end may end all of its siblings; not by default, and never for a permanent child.
    ///   - onDemand: the rule for a child that runs only while it has something to do; nil, the default, if it runs all
    ///     the time.
    ///   - backoff: the wait before a restart; by default 100 ms, doubling to 30 s.
    ///   - handshakeTimeout: the time until it has to be ready; 10 s by default, ample for a program on a busy machine.
    ///   - heartbeat: how often it shows that it is alive; by default every second, and it may miss 3 in a row.
    ///   - shutdown: how it is stopped; by default by a drain, SIGTERM after 5 s, and SIGKILL after 1 s more.
    public init(
        _ name: String,
        executable: ExecutableLocation,
        arguments: [String] = [],
        environment: [String: String] = [:],
        workingDirectory: String? = nil,
        restart: RestartType = .permanent,
        isSignificant: Bool = false,
        onDemand: OnDemand? = nil,
        backoff: Backoff = .exponential(),
        handshakeTimeout: Duration = .seconds(10),
        heartbeat: Heartbeat = Heartbeat(),
        shutdown: ShutdownSequence = .draining()
    ) {
        self.name = name
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.workingDirectory = workingDirectory
        self.restart = restart
        self.isSignificant = isSignificant
        self.onDemand = onDemand
        self.backoff = backoff
        self.handshakeTimeout = handshakeTimeout
        self.heartbeat = heartbeat
        self.shutdown = shutdown
    }
}

extension ChildSpecification {
    /// Finds every mistake in this specification, each as a sentence that names the child; empty if there is none.
    ///
    /// This does not check whether the program exists, as that may change until the child starts.
    public func validate() -> [String] {
        var mistakes: [String] = []
        if name.isEmpty { mistakes.append("the name is empty") }
        if executable.name.isEmpty { mistakes.append("the executable is empty") }
        if case .beside(let name) = executable, name.contains("/") {
            mistakes.append("the executable \"\(name)\" is looked for beside the running one, but has a directory")
        }
        if case .search(let name) = executable, name.contains("/") {
            mistakes.append("the executable \"\(name)\" is looked for in PATH, but has a directory")
        }
        if workingDirectory?.isEmpty == true { mistakes.append("the working directory is empty") }
        mistakes += textMistakes()
        if isSignificant, restart == .permanent {
            mistakes.append(
                "it is significant, but permanent, so that it is always started again; make it transient or temporary"
            )
        }
        mistakes += demandMistakes()
        mistakes += handshakeTimeout.mistakes(as: "the handshake timeout", mayBeZero: false)
        mistakes += backoff.validate() + heartbeat.validate() + shutdown.validate()
        return mistakes.map { "child \"\(name.nulsShown)\": \($0.nulsShown)" }
    }

    /// Finds every mistake in a list of siblings: the mistakes of each child, and names that occur more than once.
    ///
    /// - Parameters:
    ///   - specifications: the siblings.
    ///   - automaticShutdown: the group's automatic shutdown, which has to fit the significant siblings.
    public static func validate(
        _ specifications: [ChildSpecification],
        automaticShutdown: AutomaticShutdown = .never
    ) -> [String] {
        var mistakes = specifications.flatMap { $0.validate() } + automaticShutdown.mistakes(among: specifications)
        var count: [String: Int] = [:]
        for specification in specifications {
            count[specification.name, default: 0] += 1
            if count[specification.name] == 2 {
                mistakes.append("the name \"\(specification.name.nulsShown)\" is given to more than one child")
            }
        }
        return mistakes
    }

    private func demandMistakes() -> [String] {
        guard let onDemand else { return [] }
        var mistakes = onDemand.validate()
        if restart == .temporary {
            mistakes.append(
                "it is on demand, but temporary, so that nothing would bring it back; make it permanent or transient"
            )
        }
        if isSignificant {
            mistakes.append(
                "it is on demand and significant, but one that ends whenever it has nothing to do cannot end the others with it"
            )
        }
        return mistakes
    }

    /// A sentence for each text that the system call for a start would silently cut short or misread.
    private func textMistakes() -> [String] {
        var mistakes: [String] = []
        let texts =
            [
                ("the name", name), ("the executable", executable.name),
                ("the working directory", workingDirectory ?? ""),
            ]
            + arguments.enumerated().map { ("argument \($0.offset + 1)", $0.element) }
            + environment.sorted { $0.key < $1.key }.flatMap {
                [("the environment variable \"\($0.key)\"", $0.key), ("the value of \"\($0.key)\"", $0.value)]
            }
        for (what, text) in texts where text.utf8.contains(0) {
            mistakes.append("\(what) contains a NUL character")
        }
        for key in environment.keys.sorted() {
            if key.isEmpty { mistakes.append("an environment variable has an empty name") }
            if key.contains("=") { mistakes.append("the environment variable \"\(key)\" has a \"=\" in its name") }
        }
        return mistakes
    }
}

extension String {
    fileprivate var nulsShown: String {
        utf8.contains(0) ? split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "\\0") : self
    }
}
