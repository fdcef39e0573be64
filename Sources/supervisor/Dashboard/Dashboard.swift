import BridgePlatform
import DomainEvents
import SupervisorConfiguration

/// The worker that `supervisor run --dashboard` adds to the configured workers: a live page of the run.
///
/// An event that the dashboard misses does not count as unhandled, and a running dashboard does not keep the run alive.
/// The restart strategy leaves the dashboard out. Otherwise the dashboard counts like any other worker, for example for
/// the exit status if it is given up.
struct Dashboard: Sendable {
    static let name = "dashboard"

    /// The port if the command line states none.
    static let usualPort: UInt16 = 8_765

    static let expectedPort = "a port from 0 to \(UInt16.max)"

    /// The variable of the supervisor's environment that has the token for the page's commands.
    private static let tokenVariable = "DASHBOARD_TOKEN"

    private static let program = "dashboard-worker/worker.py"

    private let port: UInt16
    private let control: String
    private let executable: String
    private let token: String?

    /// - Parameters:
    ///   - port: a port of this machine; 0 for any free one.
    ///   - control: the path of the run's control socket.
    init(port: UInt16, control: String) throws(RunFailure) {
        self.port = port
        self.control = control
        executable = try Self.executable(supervisorDirectory: (try? CurrentProcess.executableDirectory()) ?? ".")
        token = CurrentProcess.environment(Self.tokenVariable)
    }

    /// Finds the program beside the supervisor, in the installation, or in the checkout where the supervisor was built.
    private static func executable(supervisorDirectory directory: String) throws(RunFailure) -> String {
        let parents = directory.split(separator: "/", omittingEmptySubsequences: true)
        func path(_ levels: Int, _ rest: String) -> String {
            (parents.dropLast(levels).map(String.init) + [rest]).map { "/\($0)" }.joined()
        }
        var candidates = [path(0, program), path(1, "share/event-bridge/\(program)")]
        // Only in a build folder such as `.build/x86_64-unknown-linux-gnu/debug`: elsewhere, another user may own the
        // directory three levels up.
        if parents.count >= 3, parents[parents.count - 3].hasPrefix(".build") {
            candidates.append(path(3, "Fixtures/\(program)"))
        }
        if let found = candidates.first(where: CurrentProcess.isExecutableFile) { return found }
        throw RunFailure(
            status: .configuration,
            description: TerminalText.harmless(
                "--dashboard: the program of the dashboard is not there; looked for \(candidates.joined(separator: ", then "))"
            )
        )
    }

    /// Why the dashboard cannot be added to this configuration, as a sentence; nil if it can be added.
    func mistake(in configuration: SupervisorConfiguration) -> String? {
        guard configuration.workers.contains(where: { $0.name == Self.name }) else { return nil }
        return """
            worker "\(Self.name)": found a worker of the name that --dashboard takes; expected another name, \
            or no --dashboard
            """
    }

    /// The configuration with this worker after its own workers.
    func added(to configuration: SupervisorConfiguration) -> SupervisorConfiguration {
        var configuration = configuration
        configuration.workers.append(worker)
        return configuration
    }

    private var worker: SupervisorConfiguration.Worker {
        var worker = SupervisorConfiguration.Worker(Self.name, running: executable)
        worker.arguments = ["--port", "\(port)", "--control", control]
        worker.allowsControl = true
        worker.publishes = token == nil ? [] : nil
        worker.environment = token.map { [Self.tokenVariable: $0] } ?? [:]
        // A page that is slower than the events misses some of them, and slows no publisher.
        worker.limits.overflow = ["*": .dropOldest]
        // On a busy machine, the page may take long to start.
        worker.handshake = .seconds(60)
        // The page's failures are no reason to restart what it shows.
        worker.standsAlone = true
        return worker
    }
}
