/// Decides what a client does about the link to its host: when it tries again, what it announces, and when it gives up.
///
/// The machine is pure: it takes what has happened, with the time, and returns the actions to perform.
struct AttachmentStateMachine: Sendable {
    enum Phase: Sendable, Hashable {
        /// The first attempt, whose outcome the caller of `connect` gets.
        case connecting
        case attached
        /// The link has ended at `since`; the client tries again.
        case lost(since: UInt64)
        case ended
    }

    enum Input: Sendable {
        /// The host has accepted the client, and said which events the host wants.
        case attached(hostIncarnation: UInt64)
        /// An attempt has failed, or the link has ended.
        case failed(BridgeClientError)
        case closed
    }

    enum Action: Sendable, Hashable {
        case finishConnecting(BridgeClientError?)
        case announceLoss(BridgeClientError, isFinal: Bool)
        case announceReturn(isSameHost: Bool, awayNanoseconds: UInt64)
        /// Makes a new attempt after this time, in nanoseconds.
        case tryAgain(after: UInt64)
    }

    private(set) var phase = Phase.connecting
    private var hostIncarnation: UInt64 = 0
    private var failures: UInt64 = 0

    /// The first pause before another attempt, in nanoseconds; each further pause is twice as long, up to the longest.
    static let firstPause: UInt64 = 50_000_000
    /// The longest pause before another attempt, in nanoseconds.
    static let longestPause: UInt64 = 5_000_000_000

    /// - Parameter jitter: 0 to 1; shortens a pause by up to half, so that the clients of a host do not all come at
    ///   once.
    mutating func handle(_ input: Input, at now: UInt64, jitter: Double) -> [Action] {
        switch (input, phase) {
        case (.attached(let incarnation), .connecting):
            hostIncarnation = incarnation
            phase = .attached
            return [.finishConnecting(nil)]
        case (.attached(let incarnation), .lost(let since)):
            let isSame = incarnation == hostIncarnation
            hostIncarnation = incarnation
            failures = 0
            phase = .attached
            return [.announceReturn(isSameHost: isSame, awayNanoseconds: now > since ? now - since : 0)]
        case (.failed(let error), .connecting):
            phase = .ended
            return [.finishConnecting(error)]
        case (.failed(let error), .attached):
            let isFinal = Self.isFinal(error)
            phase = isFinal ? .ended : .lost(since: now)
            return [.announceLoss(error, isFinal: isFinal)] + (isFinal ? [] : [pause(jitter)])
        case (.failed(let error), .lost):
            guard Self.isFinal(error) else { return [pause(jitter)] }
            phase = .ended
            return [.announceLoss(error, isFinal: true)]
        case (.closed, .connecting):
            phase = .ended
            return [.finishConnecting(BridgeClientError(.closed, "the client was closed"))]
        case (.closed, _):
            phase = .ended
            return []
        case (.attached, .attached), (.attached, .ended), (.failed, .ended):
            return []
        }
    }

    /// Whether the client gives up, because further attempts would probably fail in the same way.
    private static func isFinal(_ error: BridgeClientError) -> Bool {
        error.code == .rejected || error.code == .notTrusted
    }

    private mutating func pause(_ jitter: Double) -> Action {
        let whole = min(Self.firstPause << min(failures, 20), Self.longestPause)
        failures += 1
        return .tryAgain(after: whole - UInt64(Double(whole / 2) * min(max(jitter, 0), 1)))
    }
}
