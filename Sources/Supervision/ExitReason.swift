/// Says why a child ended, could not be started, or had to be killed.
///
/// If the supervisor killed a child for a fault, the reason is the fault and not the signal.
public enum ExitReason: Hashable, Sendable {
    /// The child ended by itself with this status; 0 is a normal end, and 78 (`EX_CONFIG` of sysexits.h) says that the
    /// child cannot run as it is configured.
    case exited(status: Int32)

    /// A signal of this number killed the child; `coreDumped` says whether the child left a core.
    case signaled(number: Int32, coreDumped: Bool)

    /// The child could not be started. The text says what was tried; `errno` is nil if the system gave no error number.
    case spawnFailed(String, errno: Int32?)

    /// The child did not become ready within this time; the text is what it last said that it was doing, if anything.
    case handshakeTimedOut(after: Duration, saying: String? = nil)

    /// The child was not started, because its box needs what this system lacks; the sentence says what that is.
    case boxUnavailable(String)

    /// The child ended for the wrapped reason while it was at a limit set for it; `of` is the limit's value, such as
    /// `512 MiB`.
    ///
    /// The limit is likely the reason, but that is not certain.
    indirect case atLimit(ResourceLimit, of: String, ExitReason)

    /// The host rejected the child's handshake, for a reason that no new start would change, such as another protocol
    /// version.
    case handshakeRejected(String)

    /// The child broke the protocol: what was found, and what was expected.
    case protocolViolation(String)

    /// The child gave no sign of life for this time; the text is the event that it was handling, if known.
    case unresponsive(after: Duration, busyWith: String? = nil)

    /// The child had not finished this event after this time, the deadline that was set for its handlers.
    case handlerTimedOut(event: String, after: Duration)

    /// The child ended, but something else in this process took its exit status.
    case reapedElsewhere

    /// The child was stopped on request.
    case requested

    /// Whether this reason alone makes the end a normal one.
    ///
    /// A child that said goodbye, and has no fault, ends normally with any status.
    public var isNormal: Bool {
        switch self {
        case .exited(status: 0), .requested: true
        default: false
        }
    }

    /// Whether another start would only fail in the same way.
    ///
    /// A spawn failure is permanent when the program is missing or cannot be executed, or when its path, arguments or
    /// environment are too long. But a program that ran before may be missing only while it is replaced on disk. So the
    /// caller also has to consider whether the program ran before.
    package var isPermanent: Bool {
        switch self {
        case .exited: isWrongConfiguration
        case .handshakeRejected, .boxUnavailable: true
        case .spawnFailed(_, let errno?): SystemConstants.permanentSpawnErrors.contains(errno)
        default: false
        }
    }

    /// Whether the child said by its status that it cannot run as it is configured; then no event is to blame.
    package var isWrongConfiguration: Bool { self == .exited(status: SystemConstants.wrongConfiguration) }
}

extension ExitReason {
    /// The limit at which the child ended, or for which the operating system has killed it; nil if none is known.
    ///
    /// For memory this is never certain: a process that gets no memory has to end itself, and a system without memory
    /// kills by SIGKILL, which any process can send. So the value is memory only for ``atLimit(_:of:_:)``.
    public var exceededLimit: ResourceLimit? {
        switch self {
        case .signaled(let number, _): SystemConstants.limit(behind: number)
        case .atLimit(let limit, _, _): limit
        default: nil
        }
    }

    /// The name of the signal that killed the child, such as `SIGKILL`; nil if no signal did.
    public var signalName: String? {
        switch self {
        case .signaled(let number, _): SystemConstants.signalName(number)
        case .atLimit(_, _, let reason): reason.signalName
        default: nil
        }
    }
}

extension ExitReason: CustomStringConvertible {
    /// A phrase that follows the child's name, such as `exited with status 3` or `killed by SIGKILL (9)`.
    public var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .signaled(let number, let coreDumped):
            "killed by \(SystemConstants.signalText(number))\(limitText)\(coreDumped ? ", core dumped" : "")"
        case .spawnFailed(let what, let errno?): "could not be started: \(what) (errno \(errno))"
        case .spawnFailed(let what, nil): "could not be started: \(what)"
        case .handshakeTimedOut(let time, nil): "was not ready \(time.text) after its start"
        case .handshakeTimedOut(let time, let words?): "was not ready \(time.text) after its start, saying: \(words)"
        case .boxUnavailable(let what): "could not be started: \(what)"
        case .atLimit(let limit, let value, let reason): "\(reason), at \(limit) (\(value))"
        case .handshakeRejected(let why): "was refused in the handshake: \(why)"
        case .protocolViolation(let what): "broke the protocol: \(what)"
        case .unresponsive(let time, nil): "gave no sign of life for \(time.text)"
        case .unresponsive(let time, let event?): "gave no sign of life for \(time.text) while it handled \(event)"
        case .handlerTimedOut(let event, let time): "had not finished \(event) after \(time.text)"
        case .reapedElsewhere: "ended, but something else in this process took its exit status"
        case .requested: "stopped on request"
        }
    }

    /// The same with its verb: what follows `it` in a sentence, such as `was killed by SIGKILL (9)`.
    package var predicate: String { isParticiple ? "was \(description)" : description }

    private var isParticiple: Bool {
        switch self {
        case .signaled, .requested: true
        case .atLimit(_, _, let reason): reason.isParticiple
        default: false
        }
    }

    private var limitText: String { exceededLimit.map { ", \($0)" } ?? "" }
}
