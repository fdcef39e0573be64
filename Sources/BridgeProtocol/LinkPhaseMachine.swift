/// Says which frames are allowed in which phase of a link, for either side.
///
/// A pure machine: a frame's kind comes in, and either the frame may be acted upon, or the peer has broken the
/// protocol.
package struct LinkPhaseMachine: Sendable {
    package enum Role: Sendable {
        case host
        case worker
    }

    package enum Phase: Sendable, Hashable {
        /// Only the frames of the handshake may pass.
        case handshake
        case established
        /// The peer has said goodbye, or the hello was rejected: nothing may follow.
        case ended
    }

    package let role: Role
    package private(set) var phase = Phase.handshake
    private var isPeerReady = false

    package init(role: Role) {
        self.role = role
    }

    /// The peer's hello was answered with a reject: nothing that it sends is acted upon any more.
    package mutating func peerWasRejected() {
        phase = .ended
    }

    /// Checks a frame from the peer against the phase, and goes on to the next phase if the frame begins it.
    package mutating func frameReceived(_ kind: FrameKind) throws(LinkViolation) {
        switch (phase, kind) {
        case (.handshake, .hello) where role == .host, (.handshake, .welcome) where role == .worker:
            phase = .established
        case (.handshake, .reject) where role == .worker, (.handshake, .goodbye) where role == .worker:
            // A goodbye this early nearly always says what was wrong with the hello.
            phase = .ended
        case (.handshake, _):
            let expected: FrameKind = role == .host ? .hello : .welcome
            throw LinkViolation("a \(kind) frame came before \(expected)")
        case (.established, .interest), (.established, .event), (.established, .placed), (.established, .gap),
            (.established, .acknowledge), (.established, .refuse), (.established, .receipt),
            (.established, .heartbeat):
            return
        case (.established, .ready) where role == .host:
            guard !isPeerReady else { throw LinkViolation("the worker said twice that it is ready") }
            isPeerReady = true
        case (.established, .drain) where role == .worker, (.established, .moreTime) where role == .host:
            return
        case (.established, .goodbye):
            phase = .ended
        case (.established, .drain),
            (.established, .welcome) where role == .host,
            (.established, .reject) where role == .host, (.established, .ready), (.established, .moreTime):
            throw LinkViolation("a \(kind) frame is forbidden: only a \(role == .host ? "host" : "worker") sends it")
        case (.established, _):
            throw LinkViolation("a \(kind) frame is not for a \(role) to receive after the handshake")
        case (.ended, _):
            throw LinkViolation("a \(kind) frame came after the end")
        }
    }
}
