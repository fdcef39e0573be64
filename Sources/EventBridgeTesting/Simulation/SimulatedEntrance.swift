import BridgePlatform
import BridgeTransport
import Locks
import NamedSockets

/// Lets the clients of a world attach to its host, as a control socket does outside a simulation.
///
/// A world has one entrance at a time. The entrance opens with the host that was started last, and closes with it.
final class SimulatedEntrance: Entrance, @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.
    private let world: WorldCore
    private let poller: Poller
    private let arrived: @Sendable (Arrival) -> Void
    private var isOpen = false
    private var lastConnection: UInt64 = 0
    /// The host's ends of streams that may still be open.
    private var streams: [FaultyStream] = []

    init(poller: Poller, arrived: @escaping @Sendable (Arrival) -> Void, in world: WorldCore) {
        self.world = world
        self.poller = poller
        self.arrived = arrived
    }

    func start() {
        isOpen = true
        world.entrance = self
    }

    func stop() {
        isOpen = false
        if world.entrance === self { world.entrance = nil }
    }

    // These two functions have nothing to do: each client says hello at once, and there are few clients.
    func settle(_ input: ArrivalStateMachine.Input) {}
    func note(_ matter: SocketReport.Matter) {}

    /// Connects a client, on a thread of the client's process; nil if the entrance is closed.
    func connect(_ client: SimulatedProcess, poller clientPoller: Poller) -> FaultyStream? {
        guard isOpen else { return nil }
        lastConnection += 1
        let connection = lastConnection
        let matter = "client:\(client.name)"
        let first = world.nextNumber(of: matter) << 8
        let (hostEnd, clientEnd) = MemoryStream.pair(
            capacity: SimulatedProcess.capacity(of: matter, UInt64(first) + 1, in: world),
            poller: poller,
            other: clientPoller
        )
        let toHost = FaultyStream(
            hostEnd,
            SimulatedProcess.faults(of: matter, UInt64(first) + 48, in: world),
            in: world
        )
        let toClient = FaultyStream(
            clientEnd,
            SimulatedProcess.faults(of: matter, UInt64(first) + 32, in: world),
            in: world
        )
        toClient.slow(to: SimulatedProcess.rate(of: client.name, first >> 8, in: world))
        streams.append(toHost)
        // `stream` is set before the client's next step: the client may end there, and the system then closes it.
        client.stream = toClient
        // With the client's own number, which no real process has, the host would think that the client has ended.
        let peer = UnixSocket.PeerCredentials(processIdentifier: 0, user: CurrentProcess.user, group: 0)
        let (arrived, arrival) = (
            arrived, Arrival(stream: toHost, peer: peer, connection: connection, entrance: self)
        )
        // If the client could end in the middle of this call, the host's poller might never be woken.
        Simulation.undivided { poller.perform { arrived(arrival) } }
        return toClient
    }

    /// Closes the entrance after its host's process was killed; runs on a thread of the system.
    func hostWasKilled() {
        stop()
        for stream in streams { stream.close() }
        streams = []
    }
}
