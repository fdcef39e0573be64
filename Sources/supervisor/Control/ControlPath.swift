import BridgePlatform

/// Where the control socket is that a subcommand attaches to.
enum ControlPath {
    /// Names the socket where the command line does not.
    static let variable = "EVENT_BRIDGE_CONTROL"

    /// Where it is if neither command line nor environment says, from the working directory.
    static let usual = "run/supervisor.sock"

    /// - Parameter option: what the command line says, if anything.
    static func find(_ option: String?, environment: (String) -> String? = CurrentProcess.environment) -> String {
        if let option { return option }
        if let stated = environment(variable), !stated.isEmpty { return stated }
        return usual
    }
}
