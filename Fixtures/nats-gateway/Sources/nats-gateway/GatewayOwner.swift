/// Names the host and the worker that a gateway belongs to: a second gateway of the same owner replaces the first.
///
/// A host's number, machine and worker may be the same in two containers. But each host gives all its workers a mark
/// that no other host has, not even the same program's next start.
enum GatewayOwner {
    /// `BRIDGE.NUMBER`: a random text of the host, and the number of the worker's start.
    private static let mark = "EVENT_BRIDGE_WORKER"
    private static let worker = "EVENT_BRIDGE_NAME"

    /// - Parameter environment: returns a variable's value; called before the worker's session begins and erases some.
    static func name(environment: (String) -> String?) -> String {
        var bridge = (environment(mark) ?? "").prefix { $0 != "." }
        // A gateway without a mark replaces none: two of them could otherwise wait for each other.
        if bridge.isEmpty { bridge = "\(UInt64.random(in: 0...(.max)))" }
        return "\(bridge) \(environment(worker) ?? "")"
    }
}
