import Locks
import NamedSockets
import TestSupport
import Testing

@testable import BridgePlatform

/// A socket whose file is gone; a look says so only when the test lets it.
private final class LostSocket: ListeningSocket {
    let path: String
    let user = CurrentProcess.user
    let socket: SharedDescriptor
    let isLooking = Shared(false)
    let mayGoOn = Shared(false)

    init(at path: String) throws {
        self.path = path
        socket = SharedDescriptor(try UnixSocket.listen(at: path))
        try FileDescriptor.setNonBlocking(socket.rawValue)
    }

    func look() -> NamedSocket.Place {
        isLooking.change { $0 = true }
        mayGoOn.wait { $0 }
        return .nothing
    }

    func recreate() throws(NamedSocketError) {}

    func remove() {}
}

@Suite("A listener that is stopped", .timeLimit(.minutes(5)))
struct StoppedListenerTests {
    @Test("watches no connection that a look lets in meanwhile")
    func stoppedDuringLook() throws {
        let directory = try TemporaryDirectory()
        let poller = try Poller(name: "host")
        let socket = try LostSocket(at: directory.path + "/s")
        // It is not started: its stop would need the poller's lock.
        let listener = SocketListener(socket, poller: poller, report: { _ in }, arrived: { _ in })
        let peer = try UnixSocket.connect(to: socket.path)
        listener.lookNow()
        #expect(socket.isLooking.wait { $0 })
        // The connection is let in, and cannot be registered before the stop has ended all connections.
        poller.lock.withLock {
            socket.mayGoOn.change { $0 = true }
            waitUntil { listener.unintroducedCount == 1 }
            listener.stop()
        }
        let hasLooked = Shared(false)
        poller.perform { hasLooked.change { $0 = true } }
        #expect(hasLooked.wait { $0 })
        let watched = poller.lock.withLock { poller.registrations.count }
        #expect(watched == 0)
        #expect(UnixSocket.peek(peer.rawValue) == .endOfStream)
        poller.stop()
    }
}
