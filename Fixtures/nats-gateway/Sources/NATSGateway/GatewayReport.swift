/// What a gateway tells the one who runs it.
public enum GatewayReport: Sendable, Equatable {
    /// Something that an operator should know; the gateway goes on.
    case note(String)
    /// The gateway cannot serve as it is configured, and why: the process has to end, and is not to be started again.
    case end(String)
    /// Another process has been where only this gateway should be, and why: the process has to end, and its next start
    /// looks who is there.
    case again(String)
}
