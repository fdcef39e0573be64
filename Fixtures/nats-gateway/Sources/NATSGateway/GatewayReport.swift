/// What a gateway tells the one who runs it.
public enum GatewayReport: Sendable, Equatable {
    /// Something that an operator should know; the gateway goes on.
    case note(String)
    /// The gateway can no longer serve, and why: the process has to end.
    case end(String)
}
