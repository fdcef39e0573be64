/// What a gateway reports to the program that runs it.
public enum GatewayReport: Sendable, Equatable {
    /// Something that an operator should know; the gateway goes on.
    case note(String)
    /// The gateway cannot serve as it is configured; the text says why. The process has to end, for good.
    case end(String)
    /// Another process has written or read in this node's name, or the host takes no events; the text says which. The
    /// process has to end; its next start finds out whether that is still so.
    case again(String)
}
