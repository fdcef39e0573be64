import BridgePlatform

/// Finds the control socket that a subcommand attaches to.
enum ControlPath {
    /// The environment variable that names the socket if the command line does not.
    static let variable = "EVENT_BRIDGE_CONTROL"

    /// The path if neither the command line nor the environment names a socket; it counts from the working directory.
    static let usual = "run/supervisor.sock"

    /// - Parameter option: the path on the command line; nil if it was not given.
    static func find(_ option: String?, environment: (String) -> String? = CurrentProcess.environment) -> String {
        if let option { return option }
        if let stated = environment(variable), !stated.isEmpty { return stated }
        return usual
    }
}
