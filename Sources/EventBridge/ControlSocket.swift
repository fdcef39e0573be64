import BridgeProtocol
public import DomainEvents
import NamedSockets

/// A socket with a path, at which processes attach to a host that has not started them.
///
/// Only processes of the same user get in. The host makes the socket's directory if it is missing. The directory must
/// be this user's alone (0700); see `docs/reference/control-socket.md`.
public struct ControlSocket: Sendable, Hashable {
    /// The path of the socket; a path without a leading slash counts from the working directory.
    ///
    /// The absolute path has at most 107 bytes on Linux and 103 on Darwin. For a socket that a service manager has
    /// made, the path only says where the socket is.
    public var path: String

    /// How many clients may be attached at once; 64 by default.
    ///
    /// A client that has gone also counts until the host's inline handlers are done with its events.
    public var clients: Int

    /// How many bytes of events the host keeps for each client that does not keep up; 4 MiB by default.
    public var outbox: Int

    /// What becomes of events for which a client's outbox has no room, by event name; `*` stands for all other names.
    ///
    /// Unless `*` says otherwise, the other names have `OverflowPolicy.dropOldest`. The client gets a gap in place of
    /// dropped events. No publisher ever waits for a client: `OverflowPolicy.wait` and `OverflowPolicy.fail` are
    /// refused.
    public var overflow: [String: OverflowPolicy]

    /// How long a frame that a client has begun may make no progress: as long as a client may be silent.
    package var frameDeadline = Duration.seconds(30)

    /// The socket that a service manager has made; nil if the host makes one.
    let passed: PassedSocket?

    /// Makes a description of a control socket.
    public init(
        _ path: String,
        clients: Int = 64,
        outbox: Int = 4 << 20,
        overflow: [String: OverflowPolicy] = [:]
    ) {
        self.path = path
        self.clients = clients
        self.outbox = outbox
        self.overflow = overflow
        passed = nil
    }

    private init(_ passed: PassedSocket, clients: Int, outbox: Int, overflow: [String: OverflowPolicy]) {
        path = passed.path
        self.clients = clients
        self.outbox = outbox
        self.overflow = overflow
        self.passed = passed
    }

    /// Takes the socket that a service manager has made and passes to this process: systemd's socket activation.
    ///
    /// The manager keeps the socket: the host uses it as it is, at its own path, and neither locks, watches nor removes
    /// it. This call removes `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES` from the environment. Call it at the
    /// beginning of `main`, while no other thread reads the environment. The second call finds nothing to take.
    ///
    /// - Returns: The control socket; nil if no manager has passed anything.
    /// - Throws: ``BridgeError`` if what was passed is for another process, or is anything but one listening stream
    ///   socket with a path. A single descriptor that is no such socket is closed. Several descriptors stay open, and
    ///   the programs that this process starts do not inherit them.
    public static func passedByServiceManager(
        clients: Int = 64,
        outbox: Int = 4 << 20,
        overflow: [String: OverflowPolicy] = [:]
    ) throws(BridgeError) -> ControlSocket? {
        do {
            return try PassedSocket.take().map {
                ControlSocket($0, clients: clients, outbox: outbox, overflow: overflow)
            }
        } catch {
            throw BridgeError(.control, "\(error)")
        }
    }

    func validate() -> [String] {
        var mistakes: [String] = []
        if path.isEmpty { mistakes.append("control: the path is empty") }
        if clients < 1 || clients > 4_096 {
            mistakes.append("control: \(clients) clients may attach; 1 to 4096 are possible")
        }
        if !WorkerLimits.possibleOutboxes.contains(outbox) {
            mistakes.append("control: the outbox has \(outbox) bytes; 1 KiB to 1 TiB are possible")
        }
        for (name, policy) in overflow.sorted(by: { $0.key < $1.key }) where policy == .wait || policy == .fail {
            mistakes.append(
                "control: overflow: \(name): expected a policy that drops events, as no publisher waits for a client"
            )
        }
        return mistakes
    }

    /// The limits of a client's outbox and windows.
    var link: LinkLimits {
        var limits = LinkLimits()
        limits.outboxBytes = outbox
        // A handled event stays until all before it are handled. Only such events, or one large event, exceed `outbox`.
        limits.outboxHardBytes = outbox * 2
        // The defaults of `WorkerLimits`; for clients they cannot be changed.
        limits.interestNames = 4_096
        limits.controlMessages = 1_000
        limits.overflow = OverflowPolicies(overflow.merging(["*": .dropOldest]) { stated, _ in stated })
        return limits
    }
}
