import BridgeClient
import DomainEvents
import EventBridge
import EventBridgeTesting
import TestSupport

/// A host, its workers in memory, and a socket in a directory of the test's own.
struct AttachHome {
    let directory: PrivateDirectory
    let publisher = EventPublisher()
    let attached = Collected<ClientAttached>()
    let detached = Collected<ClientDetached>()

    init() throws {
        directory = try PrivateDirectory()
    }

    var path: String { directory.path + "/s" }

    func start(
        workers: [InMemoryWorker] = [],
        control change: (inout ControlSocket) -> Void = { _ in }
    ) async throws
        -> (bridge: BridgeHost, subscriptions: [Subscription])
    {
        let subscriptions = [
            publisher.subscribe(to: ClientAttached.self) { [attached] in attached.add($0) },
            publisher.subscribe(to: ClientDetached.self) { [detached] in detached.add($0) },
        ]
        var control = ControlSocket(path)
        change(&control)
        return (try await BridgeHost.inMemory(publisher, workers: workers, control: control), subscriptions)
    }

    /// Attaches a client and waits until the host knows the client's interest.
    func attach(_ publisher: EventPublisher, name: String = "test") async throws -> BridgeClient {
        let before = attached.all.count
        let client = try await BridgeClient.connect(to: path, publisher: publisher, name: name)
        await attached.wait { $0.count > before }
        return client
    }
}

/// A directory that is this user's alone.
final class PrivateDirectory: Sendable {
    private let outer: TemporaryDirectory
    /// Made by the socket.
    var path: String { outer.path + "/run" }

    init() throws { outer = try TemporaryDirectory() }
}
