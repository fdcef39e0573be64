import DomainEvents
import EventBridge
import Supervision

/// The settings of a host in a world.
struct HostDescription: Sendable {
    let workers: [InMemoryWorker]
    let strategy: RestartStrategy
    let intensity: RestartIntensity
    let automaticShutdown: AutomaticShutdown
    let startOrder: StartOrder
    let deadLetters: DeadLetterLimits
    let control: ControlSocket?

    /// Makes a host whose workers are processes of the world, and whose links are streams of the world.
    func make(_ publisher: EventPublisher, in world: WorldCore) throws -> WorldCore.Host {
        let launcher = SimulatedLauncher(workers, in: world)
        let host = try BridgeHost(
            publisher: publisher,
            workers: workers.map(\.specification),
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startOrder: startOrder,
            deadLetters: deadLetters,
            launcher: launcher,
            control: control,
            entrance: { poller, arrived in SimulatedEntrance(poller: poller, arrived: arrived, in: world) },
            tap: world.tap(of: "host"),
            tapsUnwanted: false
        )
        let made = WorldCore.Host(bridge: host, launcher: launcher)
        world.hosts.append(made)
        return made
    }
}
