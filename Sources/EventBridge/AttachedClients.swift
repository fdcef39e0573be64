import BridgeControl
import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import NamedSockets

/// All processes that are attached to a host, and the socket through which they have come.
final class AttachedClients: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    let router: EventRouter
    let publisher: EventPublisher
    private let control: ControlSocket
    /// Makes the entrance for clients; nil if they come through the control socket.
    private let makeEntrance: EntranceMaker?
    private let poller: Poller
    /// Names that no client gets.
    private var taken: Set<String>

    private let lock = Lock()
    private var entrance: (any Entrance)?
    /// The attached clients.
    private var clients: [AttachedClient] = []
    /// The clients that take a place: the attached ones, and those that have gone while an inline handler was slow.
    ///
    /// The threads, the link and the events of such a client stay until the last of its events is handled.
    private var admitted: [AttachedClient] = []
    /// All clients whose processes have begun to speak and still do, and the admitted ones.
    private var guests: [AttachedClient] = []
    /// The processes that came before routing began; nil once it has begun.
    private var early: [Arrival]? = []
    private var lastNumber = 0
    private var isClosed = false
    /// Makes the host's report; nil before the socket is open.
    private var report: (@Sendable () -> BridgeReport?)?
    /// The worker that a process is or descends from, if that worker may not attach; nil if the process may attach.
    let workerWithoutControl: @Sendable (_ process: Int32) -> String?

    init(
        _ control: ControlSocket,
        router: EventRouter,
        poller: Poller,
        workers: some Sequence<String>,
        entrance makeEntrance: EntranceMaker?,
        workerWithoutControl: @escaping @Sendable (_ process: Int32) -> String?
    ) {
        self.workerWithoutControl = workerWithoutControl
        self.control = control
        self.makeEntrance = makeEntrance
        self.router = router
        publisher = router.publisher
        self.poller = poller
        taken = Set(workers)
    }

    var statuses: [ClientStatus] { lock.withLock { clients }.map(\.status) }

    /// Reserves names for workers that are about to be added.
    ///
    /// - Returns: The names that clients have already; if there are any, no name is reserved.
    func take(_ names: [String]) -> [String] {
        lock.withLock {
            let conflicts = names.filter { name in guests.contains { $0.name == name } }
            if conflicts.isEmpty { taken.formUnion(names) }
            return conflicts
        }
    }

    // MARK: - Life

    /// Makes the socket, so that processes can connect; they become clients when routing has begun.
    ///
    /// - Parameter report: makes the host's report; returns nil once the host has gone.
    func open(describing report: @escaping @Sendable () -> BridgeReport?) throws(BridgeError) {
        lock.withLock { self.report = report }
        do {
            let arrived: @Sendable (Arrival) -> Void = { [weak self] arrival in self?.arrived(arrival) }
            let entrance = try makeEntrance?(poller, arrived) ?? listener(arrived)
            try entrance.start()
            lock.withLock { self.entrance = entrance }
        } catch {
            throw BridgeError(.control, "\(error)")
        }
    }

    private func listener(_ arrived: @escaping @Sendable (Arrival) -> Void) throws -> SocketListener {
        let socket: any ListeningSocket = try control.passed ?? NamedSocket(at: control.path)
        return SocketListener(
            socket,
            poller: poller,
            report: { [router] report in router.reports.publish(ControlSocketReported(report)) },
            arrived: arrived
        )
    }

    /// Lets processes become clients, also those that came before: from now on, their events reach the workers.
    func routingBegan() {
        let early = lock.withLock {
            defer { self.early = nil }
            return self.early ?? []
        }
        for arrival in early { arrived(arrival) }
    }

    /// Lets no client in any more; attached clients stay.
    func stopAccepting() {
        lock.withLock { entrance.take() }?.stop()
    }

    /// Says goodbye to all clients.
    func close() {
        stopAccepting()
        let guests = lock.withLock {
            isClosed = true
            return self.guests
        }
        for guest in guests { guest.end(because: "the host has ended") }
    }

    private func arrived(_ arrival: Arrival) {
        let isEarly = lock.withLock {
            early?.append(arrival)
            return early != nil
        }
        // The entrance limits how many such processes wait, and for how long.
        if isEarly { return }
        let client: AttachedClient? = lock.withLock {
            guard !isClosed else { return nil }
            repeat { lastNumber += 1 } while taken.contains("client-\(lastNumber)")
            let client = AttachedClient(
                arrival,
                name: "client-\(lastNumber)",
                limits: control.link,
                frameDeadline: control.frameDeadline,
                poller: poller,
                owner: self
            )
            guests.append(client)
            return client
        }
        guard let client else { return arrival.stream.close() }
        do {
            try client.begin()
        } catch {
            // No thread was available; the client may try again.
            arrival.stream.close()
            arrival.ended()
            forget(client)
        }
    }

    /// Frees the place and the name of a client that has no events in inline handlers any more.
    func forget(_ client: AttachedClient) {
        lock.withLock {
            guests.removeAll { $0 === client }
            admitted.removeAll { $0 === client }
        }
    }

    // MARK: - What the clients ask and tell

    /// Admits the client and returns true, if there is room for one more and the host has not ended.
    func admit(_ client: AttachedClient) -> Bool {
        lock.withLock {
            guard admitted.count < control.clients, !isClosed else { return false }
            admitted.append(client)
            clients.append(client)
            return true
        }
    }

    /// The host's encoded report, for a client whose version is rejected; nil if there is none, or if the report is too
    /// long to be sent before a welcome.
    func encodedReport() -> [UInt8]? { lock.withLock({ report })?()?.encoded(within: Reject.longestReport) }

    /// The client's process sends nothing more.
    ///
    /// - Parameter isHandled: whether no inline handler has the client's events any more; if one has, the client keeps
    ///   its place and its name until ``forget(_:)``.
    func clientEnded(_ client: AttachedClient, isHandled: Bool, because reason: String) {
        let wasAttached = lock.withLock {
            let index = clients.firstIndex { $0 === client }
            if let index { clients.remove(at: index) }
            return index != nil
        }
        // This comes before the report, so that a process that waits for the report finds room.
        if isHandled { forget(client) }
        guard wasAttached else { return }
        router.reports.publish(ClientDetached(client: client.name, title: client.title, reason: reason))
    }
}
