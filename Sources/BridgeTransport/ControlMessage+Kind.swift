import BridgeProtocol

extension ControlMessage {
    var kind: FrameKind {
        switch self {
        case .hello: .hello
        case .welcome: .welcome
        case .reject: .reject
        case .interest: .interest
        case .ready: .ready
        case .moreTime: .moreTime
        case .acknowledge: .acknowledge
        case .refuse: .refuse
        case .receipt: .receipt
        case .heartbeat: .heartbeat
        case .drain: .drain
        case .goodbye: .goodbye
        }
    }
}
