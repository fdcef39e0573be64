import NamedSockets
import TestSupport
import Testing

@testable import BridgePlatform

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

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

/// A socket that always has something, although no connection can be accepted from it.
private final class UnacceptingSocket: ListeningSocket {
    let path = "none"
    let user = CurrentProcess.user
    let socket: SharedDescriptor
    private let other: SharedDescriptor

    init() throws {
        let pair = try UnixSocket.pair()
        (socket, other) = (SharedDescriptor(pair.first), SharedDescriptor(pair.second))
        _ = [1].withUnsafeBytes { UnixSocket.send(other.rawValue, $0) }
    }

    func look() -> NamedSocket.Place { .own }

    func recreate() throws(NamedSocketError) {}

    func remove() {}
}

/// A queue that for a while takes no descriptor, for lack of memory.
private final class ShortQueue: PollerQueue {
    private let queue: EventQueue
    /// How many descriptors were added or refused so far.
    let attempts = Shared(0)
    /// The attempts that are refused.
    private let refused: ClosedRange<Int>

    init(refusing refused: ClosedRange<Int>) throws {
        queue = try EventQueue()
        self.refused = refused
    }

    func add(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError) {
        attempts.change { $0 += 1 }
        if refused.contains(attempts.value) { throw SystemError(code: ENOMEM, operation: "watching") }
        try queue.add(descriptor, interest, token: token)
    }

    func change(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError) {
        try queue.change(descriptor, interest, token: token)
    }

    func remove(_ descriptor: CInt) { queue.remove(descriptor) }

    func wake() { queue.wake() }

    func wake(at deadline: UInt64) -> Bool { queue.wake(at: deadline) }

    func wait(atMost limit: UInt64?) -> Int { queue.wait(atMost: limit) }

    func event(at index: Int) -> (token: UInt64, readiness: Poller.Readiness)? { queue.event(at: index) }
}

@Suite("A listener whose socket cannot be watched", .timeLimit(.minutes(5)))
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
    @Test("after a shortage tries to watch its socket until that succeeds")
    func watchesAgain() throws {
        let queue = try ShortQueue(refusing: 2...3)
        let poller = try Poller(name: "host", waitingOn: queue)
        let matters = Shared<[SocketReport.Matter]>([])
        var limits = SocketListener.Limits()
        limits.reportInterval = 1_000_000
        let listener = SocketListener(
            try UnacceptingSocket(),
            limits: limits,
            poller: poller,
            report: { report in matters.change { $0.append(report.matter) } },
            arrived: { _ in }
        )
        try listener.start()
        // The fifth attempt comes after a pause that begins only when the watched socket was found readable again.
        #expect(queue.attempts.wait { $0 >= 5 })
        #expect(matters.value.contains(.shortage("\(SystemError(code: ENOMEM, operation: "watching"))")))
        listener.stop()
        poller.stop()
    }
}
