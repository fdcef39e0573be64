import BridgePlatform
import NamedSockets
import TestSupport
import Testing

/// A socket whose file is gone, and in whose place one is made that cannot be watched until the test lets it.
private final class UnwatchableSocket: ListeningSocket {
    let path: String
    let user = CurrentProcess.user
    let isMadeAnew = Shared(false)
    let mayBeWatched = Shared(false)
    private let first: SharedDescriptor
    private let second: SharedDescriptor
    /// No file is open under this number, so the poller refuses it.
    private let unwatchable = SharedDescriptor(FileDescriptor(owning: .max))

    init(at path: String) throws {
        self.path = path
        first = SharedDescriptor(try UnixSocket.listen(at: path + ".first"))
        second = SharedDescriptor(try UnixSocket.listen(at: path))
        for socket in [first, second] { try FileDescriptor.setNonBlocking(socket.rawValue) }
    }

    var socket: SharedDescriptor {
        guard isMadeAnew.value else { return first }
        return mayBeWatched.value ? second : unwatchable
    }

    func look() -> NamedSocket.Place { isMadeAnew.value ? .own : .nothing }

    func recreate() throws(NamedSocketError) { isMadeAnew.change { $0 = true } }

    func remove() {}
}

@Suite("A listener whose new socket cannot be watched", .timeLimit(.minutes(5)))
struct UnwatchedListenerTests {
    @Test("reports that, tries again with the next look, and then lets in the peers that have waited")
    func triesAgain() throws {
        let directory = try TemporaryDirectory()
        let poller = try Poller(name: "host")
        let socket = try UnwatchableSocket(at: directory.path + "/s")
        let matters = Shared<[SocketReport.Matter]>([])
        var limits = SocketListener.Limits()
        limits.reportInterval = 1_000_000
        let listener = SocketListener(
            socket,
            limits: limits,
            poller: poller,
            report: { report in matters.change { $0.append(report.matter) } },
            arrived: { _ in }
        )
        try listener.start()
        listener.lookNow()
        #expect(matters.wait { $0.contains { if case .amiss = $0 { true } else { false } } })
        let peer = try UnixSocket.connect(to: socket.path)
        socket.mayBeWatched.change { $0 = true }
        listener.lookNow()
        #expect(matters.wait { $0.contains(.recreated) })
        waitUntil { listener.unintroducedCount == 1 }
        listener.stop()
        #expect(UnixSocket.peek(peer.rawValue) == .endOfStream)
        poller.stop()
    }
}
